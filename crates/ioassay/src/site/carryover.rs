//! What trials leave to the next ones.

use crate::files::Files;
use crate::fixture::TestFile;
use crate::guard::Guard;
use crate::names::NamesInUse;
use crate::worker_process::WorkerProcess;
use model::case::OWN_PEER;
use model::host::{Medium, Storage};
use std::collections::BTreeMap;

/// State from one trial to the next.
#[derive(Default)]
pub(crate) struct Carryover {
    /// Live workers, by peer.
    pub(crate) workers: BTreeMap<String, WorkerProcess>,
    /// Live workers of actors.
    pub(crate) beside: Vec<WorkerProcess>,
    pub(crate) traces: Traces,
    /// The command that ran last, by its number in the plan.
    pub(crate) command: Option<usize>,
    /// Guards the user's own file, once a peer has had access to it.
    pub(crate) guard: Option<Guard>,
    /// How many bytes each peer's live worker had written to any storage when it started.
    pub(crate) written: BTreeMap<String, u64>,
    /// The names that were last made for another host, which removes them if all goes well.
    pub(crate) made_for_another: Option<NamesInUse>,
}

/// What a trial leaves on the storage, for whichever trial is next.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Traces {
    /// Whether the last trial that used a file wrote it.
    pub(crate) wrote: bool,
    /// Whether a file was created and unlinked since the last wait for space.
    pub(crate) unlinked: bool,
}

impl Traces {
    /// These and what another one left.
    pub(crate) fn and(self, other: Traces) -> Traces {
        Traces { wrote: self.wrote || other.wrote, unlinked: self.unlinked || other.unlinked }
    }
}

impl Carryover {
    /// Nothing but what the invocation before left on the storage.
    pub(crate) fn of_invocation_before() -> Carryover {
        Carryover { traces: Traces { unlinked: true, wrote: false }, ..Carryover::default() }
    }

    /// Remembers what the worker of `peer` had written when it started.
    pub(crate) fn started(&mut self, peer: &str, worker: &WorkerProcess) {
        let written = witness::written_by(worker.pid()).filter(|_| peer != OWN_PEER);
        self.written.remove(peer);
        self.written.extend(written.map(|bytes| (peer.to_string(), bytes)));
    }

    /// Whether no peer has written anything since it started, as the OS counts it: for file systems
    /// on block devices, of a file whose pages were clean.
    fn no_peer_wrote(&self, storage: Option<&Storage>) -> bool {
        let counts = |it: &Storage| it.medium == Medium::Block && it.file_system != "zfs";
        let mut peers = self.workers.iter().filter(|(peer, _)| *peer != OWN_PEER);
        let all_live = self.written.keys().all(|peer| self.workers.contains_key(peer));
        let wrote_nothing = |(peer, worker): (&String, &WorkerProcess)| {
            let then = self.written.get(peer);
            then.is_some() && then == witness::written_by(worker.pid()).as_ref()
        };
        all_live && storage.is_some_and(counts) && peers.all(wrote_nothing)
    }

    /// The change of a user's own file by the peers, if any: then the run must end. A file that
    /// another program surely wrote to is in use, and has no guard from then on.
    pub(crate) fn complaint(&mut self, files: &Files, storage: Option<&Storage>) -> Option<String> {
        let only_written = |guard: &Guard| files.read().all(|file| guard.was_only_written(file));
        let is_in_use = files.read().any(TestFile::is_in_use);
        if is_in_use && self.guard.as_ref().is_some_and(only_written) && self.no_peer_wrote(storage)
        {
            self.guard = None;
        }
        let guard = self.guard.as_ref()?;
        let peers = self.workers.keys().map(String::as_str).filter(|peer| *peer != OWN_PEER);
        let peers = match peers.collect::<Vec<_>>().join(", ") {
            none if none.is_empty() => "a peer that has ended".to_string(),
            peers => format!("the peer {peers}"),
        };
        files.read().find_map(|file| guard.complaint(file, &peers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_either_of_two_left_is_left() {
        for (a, b) in [(false, false), (false, true), (true, false), (true, true)] {
            let wrote = Traces { wrote: a, unlinked: false }.and(Traces { wrote: b, unlinked: b });
            assert_eq!((wrote.wrote, wrote.unlinked), (a || b, b));
        }
    }
}
