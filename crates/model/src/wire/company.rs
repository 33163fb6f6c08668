//! Where the threads of a loop over memory run, and for how much of the time, if there are others.

use crate::actor::Duty;
use crate::line::{Fields, LineBuilder, ProtocolError};
use crate::trial::Job;
use crate::units::ParseError;

/// The line of a job with its CPUs and its duty, if it has any.
pub(super) fn with_place(mut line: LineBuilder, job: &Job) -> LineBuilder {
    if !job.cpus.is_empty() {
        let cpus: Vec<String> = job.cpus.iter().map(u32::to_string).collect();
        line = line.with("cpus", cpus.join(","));
    }
    if job.duty == Duty::WHOLE { line } else { line.with("duty", job.duty) }
}

/// What a job's line says of its CPUs and its duty.
pub(super) fn place(fields: &mut Fields) -> Result<(Vec<u32>, Duty), ProtocolError> {
    let numbers = if fields.has("cpus") { fields.numbers("cpus")? } else { Vec::new() };
    let cpus: Result<Vec<u32>, _> = numbers.into_iter().map(u32::try_from).collect();
    let cpus = cpus.map_err(|_| fields.error("a CPU number out of range"))?;
    let text = if fields.has("duty") { Some(fields.text("duty")?) } else { None };
    let duty = text.map_or(Ok(Duty::WHOLE), |text| text.parse());
    Ok((cpus, duty.map_err(|error: ParseError| fields.error(error))?))
}
