//! What is said below a table of cases.

use super::Metric;
use crate::document::Remark;
use crate::words::{self, NONE};
use assess::Assessment;
use assess::summary::{ServedBy, Summary};

/// Explains the columns and the marks of a table of cases.
pub(crate) fn legend(
    shown: &[&Metric],
    measured: &[&Summary],
    assessment: &Assessment,
) -> Vec<Remark> {
    let note = |text: String, metrics: Vec<&Metric>| {
        let columns = metrics.iter().map(|metric| metric.title).collect();
        (!metrics.is_empty()).then_some(Remark { text, columns })
    };
    let of = |is: &dyn Fn(&Metric) -> bool| -> Vec<&Metric> {
        shown.iter().copied().filter(|metric| is(metric)).collect()
    };
    let timed = of(&|metric| {
        let is_of_calls = ["p50", "p90", "p99", "p99_9", "p99_99", "max"].contains(&metric.name);
        is_of_calls && measured.iter().any(|it| metric.based(it)[0].is_some())
    });
    let of_time = match measured.iter().all(|it| it.open.is_some()) {
        true => words::SERVICE_TIME_OPEN,
        false => words::SERVICE_TIME,
    };
    let mut legend: Vec<Remark> = note(of_time.to_string(), timed).into_iter().collect();
    let has_load = measured.iter().any(|it| it.loaded.is_some_and(|it| it.ceiling.is_some()));
    let explained = shown.iter().filter(|metric| !metric.legend.is_empty()).map(|metric| {
        let is_loaded = has_load && metric.name == "ceiling";
        let loaded =
            if is_loaded { "; where a row loads first, of its rate once loaded" } else { "" };
        note(format!("{}: {}{loaded}", metric.title, metric.legend), vec![*metric])
    });
    legend.extend(explained.flatten());
    let is_mixed = measured.iter().any(|it| it.served_by == Some(ServedBy::Mixed));
    let served = of(&|metric| is_mixed && metric.name == "served_by");
    legend.extend(note("mixed: a device and the page cache, each in part".to_string(), served));
    let lacks_bus = measured.iter().any(|it| it.lacks_bus());
    let no_bus = of(&|metric| lacks_bus && metric.name == "bus");
    legend.extend(note(format!("no estimate: {}", words::NO_BUS), no_bus));
    let marks = [
        ("~", words::FEW),
        (words::UNSENT, "unsent: not begun when the time was up"),
        (NONE, "dash: none, or too few to say"),
    ];
    legend.extend(marks.into_iter().filter_map(|(mark, text)| {
        let has = |it: &&Summary, metric: &Metric| metric.cell(it, assessment).starts_with(mark);
        let marked = of(&|metric| {
            metric.is_percentile() && measured.iter().any(|summary| has(summary, metric))
        });
        note(text.to_string(), marked)
    }));
    legend
}
