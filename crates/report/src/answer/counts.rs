//! Is counting the 10s of a file faster from storage than in memory?

use crate::labels::CaseLabels;
use crate::sentence::{Sentence, marked, missing, ratio_of};
use crate::text::{Text, case, figure, joined, text};
use crate::words::{count, is_virtual};
use crate::writes::said_median;
use assess::Assessment;
use assess::conclusions::counts::{Claim, CountingAnswer, RowRate};
use assess::summary::Summary;
use model::case::Engine;
use model::units::{self, percent};

/// The answer for each size, in lines.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Vec<Sentence> {
    let name = &|id: &str| labels.name(id);
    let all = &assessment.conclusions.counts;
    if all.is_empty() {
        return missing(
            "There is no answer: it needs a count in memory, or both sides of the claim.",
        );
    }
    let of_size = |answer: &CountingAnswer| -> Vec<Sentence> {
        let claims = answer.claims.iter().flat_map(|claim| said_claim(claim, name));
        let lines = verdict(assessment, answer, name).into_iter().chain(ceilings(answer));
        lines.chain(claims).collect()
    };
    let counts = all.iter().map(|answer| counted(assessment, answer.size));
    all.iter().flat_map(of_size).chain(counts).collect()
}

/// The count in files of this size, and how many rows were right.
fn counted(assessment: &Assessment, size: u64) -> Sentence {
    let is_of_size = |summary: &&Summary| {
        let work = summary.case.read().filter(|work| work.engine != Engine::Null);
        summary.n > 0 && work.is_some_and(|work| work.io.size == size)
    };
    let rows = || assessment.cases.iter().filter(is_of_size);
    let number = |is_right| rows().filter(|it| it.digest_verified == Some(is_right)).count();
    let found = rows().filter(|it| it.verdict.stands()).find_map(|it| it.counted);
    let found = found.map_or(String::new(), |found| format!("{found} tens in "));
    Sentence::plain(format!(
        "{found}{}: {} counted or summed rightly, {} wrongly.",
        units::bytes(size),
        count(number(true), "row"),
        number(false)
    ))
}

fn verdict(
    assessment: &Assessment,
    answer: &CountingAnswer,
    name: &dyn Fn(&str) -> String,
) -> Vec<Sentence> {
    let size = units::bytes(answer.size);
    let disk = if is_virtual(assessment.header.storage.as_ref()) { "virtual disk" } else { "disk" };
    let Some(device) = &answer.device else {
        return vec![Sentence::plain(format!(
            "{size}: no valid row was served by a device, so no disk is judged."
        ))];
    };
    let figures = text!("{} ({})", rate(device), case(&device.row.id, name));
    let asks = format!("whether this {disk} is faster than memory");
    let first = match &answer.disk_is_faster {
        None => {
            let needs = "needs reads of memory with as many threads";
            Sentence::open(asks, needs, [&device.row])
        }
        Some(decided) => {
            let of = match device.of_count {
                Some(_) => "what as many threads count in memory",
                None => "what as many threads read from memory",
            };
            Sentence::decided(decided, asks, |is_faster| {
                text!(
                    "At {}, this {} is {} than memory: its fastest count, {}, is {}.",
                    &size,
                    disk,
                    if is_faster { "faster" } else { "not faster" },
                    &figures,
                    ratio_of(decided, of)
                )
            })
        }
    };
    let beside = first.is_open().then(|| {
        let text = text!("{}: the fastest count from this {} is {}.", size, disk, figures);
        Sentence::figures(text, [&device.row])
    });
    beside.into_iter().chain([first]).collect()
}

/// The median of a rate.
fn rate(of: &RowRate) -> Text {
    marked(said_median(&of.throughput), [&of.row])
}

fn ceilings(answer: &CountingAnswer) -> Vec<Sentence> {
    let rates = |does: &str, figures: &[RowRate]| {
        let said = |figure: &RowRate| {
            let threads = count(figure.threads as usize, "thread");
            text!("{} by {}", rate(figure), threads)
        };
        let all = joined(&figures.iter().map(said).collect::<Vec<_>>(), ", ");
        let text = text!("{} {}", does, all);
        (!figures.is_empty())
            .then(|| Sentence::figures(text, figures.iter().map(|figure| &figure.row)))
    };
    let counted = rates("memory is counted at", &answer.in_memory);
    let read = rates("memory is read at", &answer.memory_reads);
    let cache = answer.page_cache.as_ref().map(|cache| {
        let text = text!("the page cache gives up to {}", rate(cache));
        Sentence::figures(text, [&cache.row])
    });
    let said: Vec<Sentence> = [counted, read, cache].into_iter().flatten().collect();
    let line = (!said.is_empty()).then(|| Sentence::joined(said, "; ").capital());
    line.into_iter().chain(caches(answer.caches_hold)).collect()
}

/// What the processor's caches can hold, if it is enough to count.
fn caches(share: Option<f64>) -> Option<Sentence> {
    /// What caches hold of data four times as large (docs/method).
    const LITTLE: f64 = 0.25;
    let share = share.filter(|share| *share > LITTLE)?;
    Some(Sentence::plain(match share {
        1.0 => "The data fits into the processor's caches: 'memory' here may mean those.".into(),
        share => text!(
            "The processor's caches can hold up to {} of the data: 'memory' here may partly mean \
             those.",
            figure(percent(share))
        ),
    }))
}

/// Whether a claim holds.
fn holds(is_so: bool) -> &'static str {
    if is_so { "that holds here" } else { "that does not hold here" }
}

/// The claim that started the question.
const CLAIM: &str = "\"io_uring is faster than mmap\"";

/// That claim for a state of the file, and a fairer comparison. The figures of an undecided claim
/// are said, too.
fn said_claim(claim: &Claim, name: &dyn Fn(&str) -> String) -> Vec<Sentence> {
    let asks = format!("whether {CLAIM} holds here, mmap {}", claim.cache);
    let claimed = format!("{CLAIM}, mmap {}", claim.cache);
    let figures = text!(
        "direct {} against one thread that faults {}, {}.",
        rate(&claim.uring),
        rate(&claim.mmap),
        ratio_of(&claim.holds, "")
    );
    let first = Sentence::decided(&claim.holds, asks, |is_so| {
        text!("{}: {}; {}", &claimed, holds(is_so), &figures)
    });
    let beside = first.is_open().then(|| {
        let text = text!("{}: undecided; {}", &claimed, &figures);
        Sentence::figures(text, claim.holds.rows())
    });
    let fairest = claim
        .fair
        .iter()
        .max_by(|a, b| a.figure.throughput.median.total_cmp(&b.figure.throughput.median));
    let fairer = fairest.map(|fair| {
        let other = case(&fair.figure.row.id, name);
        let asks = text!("whether io_uring is faster than {}", &other);
        Sentence::decided(&fair.holds, asks, |is_so| {
            text!(
                "Against another way to the same file, {} ({}), io_uring is {}: {}.",
                other,
                rate(&fair.figure),
                ratio_of(&fair.holds, "as fast"),
                holds(is_so)
            )
        })
    });
    beside.into_iter().chain([first]).chain(fairer).collect()
}
