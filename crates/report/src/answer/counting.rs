//! Is counting the 10s of a file faster from storage than in memory?

use crate::sentence::{Paragraphs, Sentence, missing, said_ratio};
use crate::words::{count, is_virtual, listed};
use assess::Assessment;
use assess::counting::{Claim, CountingAnswer, RowRate};
use assess::summary::Summary;
use model::case::Engine;
use model::units;

/// The answer for each size, in sentences.
pub(super) fn answer(assessment: &Assessment, name: &dyn Fn(&str) -> String) -> Paragraphs {
    if assessment.counting.is_empty() {
        return missing(
            "There is no answer: it needs a count in memory, or both sides of the claim.",
        );
    }
    let of_size = |answer: &CountingAnswer| -> Paragraphs {
        let mut sentences = vec![verdict(assessment, answer, name)];
        sentences.extend(ceilings(answer));
        let claims = answer.claims.iter().map(|claim| said_claim(claim, name));
        [sentences].into_iter().chain(claims).collect()
    };
    let counts = assessment.counting.iter().map(|answer| vec![counted(assessment, answer.size)]);
    assessment.counting.iter().flat_map(of_size).chain(counts).collect()
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
) -> Sentence {
    let size = units::bytes(answer.size);
    let disk = if is_virtual(assessment.storage.as_ref()) { "virtual disk" } else { "disk" };
    let Some(device) = &answer.device else {
        return Sentence::plain(format!(
            "{size}: no valid row was served by a device, so no disk is judged."
        ));
    };
    let figures = format!(
        "the fastest count from it ({}) moves {}",
        name(&device.row.id),
        units::rate(device.throughput.median)
    );
    let Some(decided) = &answer.disk_is_faster else {
        let text = format!(
            "{size}: is this {disk} faster than memory? Undecided, because memory was not read \
             with as many threads: {figures}."
        );
        return Sentence::figures(text, [&device.row]);
    };
    let of = match device.of_count {
        Some(_) => "count in memory",
        None => "read from memory",
    };
    let ratio = said_ratio(&decided.ratio());
    Sentence::decided(decided, ["Yes", "No", "Undecided"], |says| {
        format!(
            "{size}: is this {disk} faster than memory? {says}: {figures}, {ratio} of what as many \
             threads {of}."
        )
    })
}

fn ceilings(answer: &CountingAnswer) -> Vec<Sentence> {
    let rates = |does: &str, figures: &[RowRate]| {
        let said = |figure: &RowRate| {
            let threads = count(figure.threads as usize, "thread");
            format!("{} by {threads}", units::rate(figure.throughput.median))
        };
        let all = listed(&figures.iter().map(said).collect::<Vec<_>>());
        Sentence::figures(format!("{does} at {all}."), figures.iter().map(|figure| &figure.row))
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
    if answer.fits_caches {
        sentences.push(Sentence::plain(
            "The data fits into the processor's caches: 'memory' here may mean those.",
        ));
    }
    sentences
}

/// Whether a claim holds.
const HOLDS: [&str; 3] = ["that holds here", "that does not hold here", "that is undecided here"];

/// The claim that started the question, and a fairer comparison.
fn said_claim(claim: &Claim, name: &dyn Fn(&str) -> String) -> Vec<Sentence> {
    let first = Sentence::decided(&claim.holds, HOLDS, |says| {
        format!(
            "The claim \"io_uring is faster than mmap\", mmap {}: io_uring direct at {} against \
             one thread that maps the file and faults at {}, {}: {says}.",
            claim.cache,
            units::rate(claim.uring.throughput.median),
            units::rate(claim.mmap.throughput.median),
            said_ratio(&claim.holds.ratio()),
        )
    });
    let fairest = claim
        .fair
        .iter()
        .max_by(|a, b| a.figure.throughput.median.total_cmp(&b.figure.throughput.median));
    let beside = fairest.map(|fair| {
        Sentence::decided(&fair.holds, HOLDS, |says| {
            format!(
                "Against the other way to the same file with the highest median ({}, {}) it is {}: \
                 {says}.",
                name(&fair.figure.row.id),
                units::rate(fair.figure.throughput.median),
                said_ratio(&fair.holds.ratio()),
            )
        })
    });
    [first].into_iter().chain(beside).collect()
}
