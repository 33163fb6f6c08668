//! The lines of a calibration.

use super::{Reply, joined};
use crate::line::{Fields, LineBuilder, ProtocolError};
use crate::memory::Kernel;
use crate::shape::{Calibrate, LoopShape, ShapePasses};
use crate::units::ParseError;
use std::str::FromStr;
use std::time::Duration;

/// The line of a request.
pub(super) fn of_request(asked: &Calibrate) -> String {
    let kernels: Vec<&str> = asked.kernels.iter().map(|it| it.name()).collect();
    let line = LineBuilder::new("calibrate").with("kernels", kernels.join(","));
    let line = line.with("pages", asked.pages).with("threads", asked.threads);
    line.with("array", asked.array).with("time_ns", asked.time.as_nanos()).text
}

/// The line of a candidate's passes.
pub(super) fn of_timed(kernel: Kernel, timed: &ShapePasses) -> LineBuilder {
    let line = LineBuilder::new("timed").with("kernel", kernel).with("shape", timed.shape);
    line.with("bytes", timed.bytes).with("ns", joined(&timed.pass_ns))
}

/// The request of a line.
pub(super) fn request(fields: &mut Fields) -> Result<Calibrate, ProtocolError> {
    let kernels = fields.text("kernels")?;
    let kernels: Result<Vec<Kernel>, ParseError> = kernels.split(',').map(str::parse).collect();
    Ok(Calibrate {
        kernels: kernels.map_err(|error| fields.error(error))?,
        pages: parsed(fields, "pages")?,
        threads: u32::try_from(fields.number("threads")?)
            .map_err(|_| fields.error("a number of threads out of range"))?,
        array: fields.number("array")?,
        time: Duration::from_nanos(fields.number("time_ns")?),
    })
}

/// The passes of a line.
pub(super) fn timed(fields: &mut Fields) -> Result<Reply, ProtocolError> {
    let (kernel, shape) = (parsed(fields, "kernel")?, parsed(fields, "shape")?);
    let (bytes, pass_ns) = (fields.number("bytes")?, fields.numbers("ns")?);
    Ok(Reply::Timed { kernel, timed: ShapePasses { shape, bytes, pass_ns } })
}

/// The shape of a job, if it has one.
pub(super) fn shape(fields: &mut Fields) -> Result<Option<LoopShape>, ProtocolError> {
    if fields.has("shape") { parsed(fields, "shape").map(Some) } else { Ok(None) }
}

/// A value that has a text form.
fn parsed<T: FromStr<Err = ParseError>>(
    fields: &mut Fields,
    key: &str,
) -> Result<T, ProtocolError> {
    fields.text(key)?.parse().map_err(|error: ParseError| fields.error(error))
}
