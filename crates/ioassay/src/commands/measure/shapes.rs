//! The shapes of loops, measured before a run.

use crate::calibration::{calibrate, requests};
use crate::commands::tell;
use crate::stop::Stop;
use anyhow::Result;
use model::plan::Plan;
use model::record::Header;
use model::shape::Calibrated;
use std::process::Command;

/// The fastest shape of each loop of these runs, which are on one host: those of `then`, if a run
/// goes on, so that its trials stay alike. Otherwise a worker that `command` starts measures them.
/// If it cannot, there are none: `isa auto` is the widest vectors, and a note says so.
pub(super) fn shapes_of(
    then: Option<&Vec<Calibrated>>,
    runs: &[&Header],
    command: Result<Command, String>,
    stop: &Stop,
) -> Result<Vec<Calibrated>> {
    if let Some(then) = then {
        return Ok(then.clone());
    }
    let Some(host) = runs.first().map(|run| &run.host) else { return Ok(Vec::new()) };
    let plans: Vec<&Plan> = runs.iter().map(|run| &run.plan).collect();
    calibrate(&requests(&plans, host), command, stop).or_else(|reason| {
        // A run that is stopped says so itself.
        if !stop.is_asked() {
            tell(&format!(
                "note: the fastest loops are not known, so the run uses the widest vectors: \
                 {reason}"
            ))?;
        }
        Ok(Vec::new())
    })
}
