//! The workers of a site: one for each peer, as long as it lives.

use super::{Carryover, Site};
use crate::worker_process::WorkerProcess;
use model::case::Case;
use model::trial::Outcome;

impl Site<'_> {
    /// The live worker of the peer of `case`. If it failed earlier, a new one is started.
    #[expect(clippy::result_large_err, reason = "a trial has one outcome")]
    pub(super) fn worker(
        &self,
        left: &mut Carryover,
        case: &Case,
    ) -> Result<WorkerProcess, Outcome> {
        let peer = &*case.peer;
        if self.is_apart(case) {
            return self.start(peer);
        }
        if let Some(live) = left.workers.remove(peer) {
            return Ok(live);
        }
        self.start(peer).inspect(|started| left.started(peer, started))
    }

    /// Keeps the worker of `case` for the next trial of its peer.
    pub(super) fn keep(&self, left: &mut Carryover, case: &Case, live: WorkerProcess) {
        if !self.is_apart(case) {
            left.workers.insert(case.peer.clone(), live);
        }
    }

    /// Whether `case` is measured beside commands. Then its worker is one of its own: the memory of
    /// the one that starts commands would hide that of small ones.
    fn is_apart(&self, case: &Case) -> bool {
        !self.plan.commands.is_empty() && case.command().is_none()
    }

    /// A new worker of `peer`.
    #[expect(clippy::result_large_err, reason = "a trial has one outcome")]
    pub(super) fn start(&self, peer: &str) -> Result<WorkerProcess, Outcome> {
        let command = (self.worker)(peer).map_err(|reason| Outcome::Unavailable { reason })?;
        let failed = |reason: String| Outcome::Failed { reason };
        let worker = WorkerProcess::start(command, self.stop, self.patience)
            .map_err(|error| failed(format!("{error:#}")))?;
        if let Some(group) = self.memory {
            group.add(worker.pid()).map_err(|error| failed(error.to_string()))?;
        }
        Ok(worker)
    }
}
