//! Is counting the 10s of a file faster from storage than in memory?

use crate::labels::CaseLabels;
use crate::sentence::{Paragraphs, Sentence, missing, said_ratio};
use crate::text::{Text, case, figure, listed, text};
use crate::words::{count, is_virtual};
use assess::Assessment;
use assess::conclusions::counts::{Claim, CountingAnswer, RowRate};
use assess::stats::Estimate;
use assess::summary::Summary;
use model::case::Engine;
use model::units::{self, percent};

/// The answer for each size, in sentences.
pub(super) fn answer(assessment: &Assessment, labels: &CaseLabels) -> Paragraphs {
    let name = &|id: &str| labels.name(id);
    if assessment.conclusions.counting.is_empty() {
        return missing(
            "There is no answer: it needs a count in memory, or both sides of the claim.",
        );
    }
    let of_size = |answer: &CountingAnswer| -> Paragraphs {
        let mut sentences = verdict(assessment, answer, name);
        sentences.extend(ceilings(answer));
        let claims = answer.claims.iter().map(|claim| said_claim(claim, name));
        [sentences].into_iter().chain(claims).collect()
    };
    let counts =
        assessment.conclusions.counting.iter().map(|answer| vec![counted(assessment, answer.size)]);
    assessment.conclusions.counting.iter().flat_map(of_size).chain(counts).collect()
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
    let figures = text!(
        "the fastest count from it ({}) moves {}",
        case(&device.row.id, name),
        rate(&device.throughput)
    );
    let asks = format!("whether this {disk} is faster than memory");
    let first = match &answer.disk_is_faster {
        None => {
            let takes = "takes reads of memory with as many threads";
            Sentence::open(asks, takes, [&device.row])
        }
        Some(decided) => {
            let of = match device.of_count {
                Some(_) => "count in memory",
                None => "read from memory",
            };
            Sentence::decided(decided, asks, |is_faster| {
                text!(
                    "{}: is this {} faster than memory? {}: {}, {} of what as many threads {}.",
                    &size,
                    disk,
                    if is_faster { "Yes" } else { "No" },
                    &figures,
                    said_ratio(&decided.ratio()),
                    of
                )
            })
        }
    };
    let beside =
        first.is_open().then(|| Sentence::figures(text!("{}: {}.", size, figures), [&device.row]));
    beside.into_iter().chain([first]).collect()
}

/// The median of a rate.
fn rate(throughput: &Estimate) -> Text {
    figure(units::rate(throughput.median))
}

fn ceilings(answer: &CountingAnswer) -> Vec<Sentence> {
    let rates = |does: &str, figures: &[RowRate]| {
        let said = |figure: &RowRate| {
            let threads = count(figure.threads as usize, "thread");
            text!("{} by {}", rate(&figure.throughput), threads)
        };
        let all = listed(&figures.iter().map(said).collect::<Vec<_>>());
        Sentence::figures(text!("{} at {}.", does, all), figures.iter().map(|figure| &figure.row))
    };
    let mut sentences = Vec::new();
    if !answer.in_memory.is_empty() {
        sentences.push(rates("Memory is counted", &answer.in_memory));
    }
    if !answer.memory_reads.is_empty() {
        sentences.push(rates("Memory is read", &answer.memory_reads));
    }
    if let Some(cache) = &answer.page_cache {
        sentences.push(Sentence::page_cache(&cache.row, cache.throughput.median));
    }
    sentences.extend(caches(answer.caches_hold));
    sentences
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

/// The claim that started the question, and a fairer comparison.
fn said_claim(claim: &Claim, name: &dyn Fn(&str) -> String) -> Vec<Sentence> {
    let asks = format!("whether \"io_uring is faster than mmap\" holds here, mmap {}", claim.cache);
    let first = Sentence::decided(&claim.holds, asks, |is_so| {
        text!(
            "The claim \"io_uring is faster than mmap\", mmap {}: io_uring direct at {} against \
             one thread that maps the file and faults at {}, {}: {}.",
            claim.cache.to_string(),
            rate(&claim.uring.throughput),
            rate(&claim.mmap.throughput),
            said_ratio(&claim.holds.ratio()),
            holds(is_so)
        )
    });
    let fairest = claim
        .fair
        .iter()
        .max_by(|a, b| a.figure.throughput.median.total_cmp(&b.figure.throughput.median));
    let beside = fairest.map(|fair| {
        let other = case(&fair.figure.row.id, name);
        let asks = text!("whether it is faster than {}, another way to the same file", &other);
        Sentence::decided(&fair.holds, asks, |is_so| {
            text!(
                "Against the other way to the same file with the highest median ({}, {}), \
                 io_uring is {}: {}.",
                other,
                rate(&fair.figure.throughput),
                said_ratio(&fair.holds.ratio()),
                holds(is_so)
            )
        })
    });
    [first].into_iter().chain(beside).collect()
}
