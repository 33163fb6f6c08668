//! Optional counters that a worker may report.

use crate::generation::PagesRead;
use crate::line::{Fields, LineBuilder, ProtocolError};
use crate::sample::{Seat, Span, Usage};

/// Optional keys and numbers of a line.
pub(crate) type OptionalFields = [(&'static str, Option<u64>)];

/// Appends the known values to a line.
pub(crate) fn with_known(line: LineBuilder, fields: &OptionalFields) -> LineBuilder {
    fields.iter().fold(line, |line, (key, number)| match number {
        Some(number) => line.with(key, number),
        None => line,
    })
}

/// The optional values of a span.
pub(crate) fn fields_of_span(span: &Span) -> [(&'static str, Option<u64>); 16] {
    let [start, end] = [span.start_seat, span.end_seat];
    let pages = span.pages;
    [
        ("pages_before", pages.map(|pages| pages.before)),
        ("pages_first", pages.map(|pages| pages.first)),
        ("pages_second", pages.map(|pages| pages.second)),
        ("pages_torn", pages.map(|pages| pages.torn)),
        ("pages_wrong", pages.map(|pages| pages.wrong)),
        ("mixed_ops", pages.map(|pages| pages.mixed_ops)),
        ("digest", span.digest),
        ("synced_ns", span.synced_ns),
        ("paused_ns", span.paused_ns),
        ("lag_ns", span.lag_ns),
        ("cpu_ns", span.cpu_ns),
        ("run_delay_ns", span.run_delay_ns),
        ("start_cpu", start.map(|seat| seat.cpu.into())),
        ("start_node", start.map(|seat| seat.node.into())),
        ("end_cpu", end.map(|seat| seat.cpu.into())),
        ("end_node", end.map(|seat| seat.node.into())),
    ]
}

/// Parses the values of a process.
pub(crate) fn usage(fields: &mut Fields) -> Result<Usage, ProtocolError> {
    let mut usage = Usage::default();
    for (key, number) in usage.counters() {
        *number = fields.number_if(key)?;
    }
    Ok(usage)
}

/// Parses what a thread read of a file that was overwritten meanwhile; `None` without its first
/// number.
pub(crate) fn pages(fields: &mut Fields) -> Result<Option<PagesRead>, ProtocolError> {
    let Some(before) = fields.number_if("pages_before")? else { return Ok(None) };
    Ok(Some(PagesRead {
        before,
        first: fields.number("pages_first")?,
        second: fields.number("pages_second")?,
        torn: fields.number("pages_torn")?,
        wrong: fields.number("pages_wrong")?,
        mixed_ops: fields.number("mixed_ops")?,
    }))
}

/// Parses where a thread ran; `None` unless both numbers are present.
pub(crate) fn seat(
    fields: &mut Fields,
    cpu: &str,
    node: &str,
) -> Result<Option<Seat>, ProtocolError> {
    let [cpu, node] = [fields.number_if(cpu)?, fields.number_if(node)?];
    let small = |number: Option<u64>| number.and_then(|number| u32::try_from(number).ok());
    Ok(small(cpu).zip(small(node)).map(|(cpu, node)| Seat { cpu, node }))
}
