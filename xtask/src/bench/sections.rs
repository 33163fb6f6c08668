//! What each section says beside its table.

use super::contest::{Contest, Entrant};
use super::duels::{DUELS, Duel};
use super::figure::Row;
use super::ground::{CACHES, Ground};
use super::matrix::Build;
use super::numbers::BLOCK_BYTES;
use super::page::{Circumstances, section};
use super::solos;
use super::stage::Waits;
use super::sysbench::Events;
use super::writing::{self, CACHED_BYTES, DURABLE_TIMES};
use crate::document::{commands, paragraph};
use model::units;
use std::fmt::Write;
use std::path::Path;

/// The section about files.
pub(super) fn files(circumstances: &Circumstances, rows: &[Row]) -> String {
    let (pairs, time) = (circumstances.pairs, circumstances.time);
    let method = paragraph(&format!(
        "Each row has {pairs} pairs of trials of {} s. Both sides read the same file of 1 GiB in \
         the same state: in the page cache as a whole (warm), or not at all (direct). CPU time is \
         user and system time of the whole process, from `/proc/PID/stat` and from fio's `usr_cpu` \
         and `sys_cpu`. ioassay times every operation and keeps the latency of each; so does fio \
         as it is called here. Where the OS gives them, ioassay's buffers are huge pages, and \
         fio's are not: with blocks of 1 MiB the device then gets fewer and longer pieces, which \
         can be most of the difference.",
        time.as_secs()
    ));
    let calls = commands(&Duel::calls(DUELS, time));
    let details = format!("### Calls of fio\n\n`FILE` stands for the test file.\n\n{calls}");
    section(circumstances, &method, rows, &details)
}

/// The section about the program itself.
pub(super) fn program(circumstances: &Circumstances, rows: &[Row]) -> String {
    let method = paragraph(&format!(
        "How large the program is as `cargo build --release` makes it, recipes and peers in it; \
         how long it takes to start, {} times in turn with `true`; and how long, with how much \
         memory, to plan and to report, {} times each. The memory is the greatest that was seen \
         resident (`VmHWM`), asked for every millisecond.",
        solos::STARTS,
        circumstances.pairs
    ));
    section(circumstances, &method, rows, "")
}

/// What is told of the memory section, beside its rows.
#[derive(Debug)]
pub(super) struct Notes {
    /// To whom the OS gives huge pages: a word of `transparent_hugepage/enabled`.
    pub(super) huge_pages: Option<String>,
    /// Where the time of `sysbench memory` goes by default, if it is there.
    pub(super) events: Option<Events>,
    /// The command lines of other programs.
    pub(super) calls: Vec<String>,
}

/// The section about memory.
pub(super) fn memory(
    circumstances: &Circumstances,
    ground: &Ground,
    notes: &Notes,
    rows: &[Row],
) -> String {
    let method = arrays(circumstances, ground, notes)
        + &counting(ground)
        + &notes.events.map(|events| paragraph(&beside_sysbench(events))).unwrap_or_default();
    let mut details = String::new();
    if let Ok(builds) = &ground.builds {
        details += &sweep(builds);
    }
    let calls = commands(&notes.calls);
    let _ = write!(
        details,
        "### Calls of others\n\nA chase has another `SEED` in each round.\n\n{calls}"
    );
    section(circumstances, &method, rows, &details)
}

fn arrays(circumstances: &Circumstances, ground: &Ground, notes: &Notes) -> String {
    let (pairs, seconds) = (circumstances.pairs, circumstances.time.as_secs());
    let size = match ground.array_bytes {
        Ok(bytes) => units::bytes_rounded(bytes),
        Err(_) => "no bytes".to_owned(),
    };
    let pages = match notes.huge_pages.as_deref() {
        Some("always") => "and has them all the same, for this host gives them to all",
        Some(word @ ("madvise" | "never")) => {
            &format!("and gets none, for this host gives them by `{word}`")
        }
        _ => "and it is not known whether it gets any",
    };
    paragraph(&format!(
        "Each row has {pairs} pairs, out of {pairs} rounds. In each round all that are compared \
         run once, for {seconds} s and in a process of their own. An array has {size}, {CACHES} \
         times the last-level cache, and is shared out among the threads; a copy has two, a triad \
         three. A GB is 10⁹ bytes, and a pass moves each array once, as STREAM counts: \
         likwid-bench counts the same, 16 bytes an element of a copy and 24 of a triad. It does \
         not ask for huge pages, {pages}. What ioassay sums, counts or copies is checked after \
         each trial."
    ))
}

fn counting(ground: &Ground) -> String {
    let size = match &ground.numbers {
        Ok(numbers) => units::bytes(numbers.size),
        Err(_) => "no size that fits here".to_owned(),
    };
    let block = units::bytes(BLOCK_BYTES);
    paragraph(&format!(
        "What is counted in a mapping is a file of {size}, integers below 20, all of it in the \
         page cache. A trial is one pass by one thread, over a mapping that is made for it, in \
         blocks of {block}; the OS gets no advice unless the row says so. The time of mapping is \
         that of `mmap` and of advice; what is mapped on the first touch of a page comes later and \
         is no part of it. The best C is the fastest build in a first sweep."
    )) + &paragraph(
        "The C loop beside the chase is [chase.c](xtask/src/bench/chase.c), built by `gcc -O2`; it \
         shares no code with ioassay.",
    )
}

/// Why the default of `sysbench memory` misleads.
fn beside_sysbench(events: Events) -> String {
    let Events { ns, inside_ns } = events;
    let percent = inside_ns / ns * 100.0;
    format!(
        "By default `sysbench memory` writes the same block of 1 KiB again and again, 8 bytes by \
         8: it stays in the L1 cache, so that the MiB/sec are not those of memory. Nor are they \
         those of the cache: of the {ns:.0} ns that an event took here, {inside_ns:.0} ns \
         ({percent:.0} %) went by within it, by its own count; the rest is what sysbench does \
         around each event, such as reading the clock."
    )
}

fn sweep(builds: &[Build]) -> String {
    let mut text = "### Builds of C\n\nMedians of the sweep, the fastest first. Vectors are the \
                    widest in the counting loop, in bits.\n\n\
                    | build | compiler | vectors | rate |\n|---|---|---|---|\n"
        .to_owned();
    for Build { peer, bytes_per_s, .. } in builds {
        let compiler = peer.version.as_deref().unwrap_or("unknown");
        let vectors = match peer.vector_bits {
            Some(0) => "none".to_owned(),
            Some(bits) => bits.to_string(),
            None => "not looked for".to_owned(),
        };
        let rate = units::rate(*bytes_per_s);
        let _ = writeln!(text, "| {} | {compiler} | {vectors} | {rate} |", peer.name);
    }
    text + "\n"
}

/// The command lines of the other programs in `contests`, each once.
pub(super) fn calls(contests: &[Contest<'_>]) -> Vec<String> {
    let mut calls = Vec::new();
    for entrant in contests.iter().filter_map(|contest| contest.entrants.as_ref().ok()).flatten() {
        let (Entrant::Program(words, _) | Entrant::Writer { words, .. }) = entrant else {
            continue;
        };
        let (program, arguments) = words.split_first().expect("a command has a program");
        // A program that was built for this run is in a folder that is gone when it is over.
        let program = Path::new(program).file_name().expect("a program is a file");
        let call = format!("{} {}", program.display(), arguments.join(" "));
        if !calls.contains(&call) {
            calls.push(call);
        }
    }
    calls
}

/// The section about writing, new files of `size` bytes among others. The command lines of the
/// contests are `calls`.
pub(super) fn writing(
    circumstances: &Circumstances,
    size: u64,
    waits: Waits,
    calls: &[String],
    rows: &[Row],
) -> String {
    let (pairs, seconds) = (circumstances.pairs, circumstances.time.as_secs());
    let rounds = pairs * DURABLE_TIMES;
    let Waits { all, in_vain } = waits;
    let quiet = match in_vain {
        0 => format!("and came about each of the {all} times"),
        _ => format!("and did not come about {in_vain} of {all} times"),
    };
    let (size, cached) = (units::bytes(size), units::bytes(CACHED_BYTES));
    let method = paragraph(&format!(
        "Each row has {pairs} pairs, but those about what is durable have {rounds}: the rate of a \
         disk that is shared with others differs from one second to the next. Before each trial \
         that writes, what earlier ones left was \
         written out, and the disk then had nothing to do for 100 ms: this was waited for, at most \
         for 30 s, {quiet}."
    )) + &paragraph(&format!(
        "What is durable is {size}, written in order in blocks of 1 MiB to a new file, from the \
         first write until the sync at the end has returned. In each round ioassay, dd and fio do \
         so once. Nothing is allocated beforehand: fio is told so. ioassay and dd call \
         `write` and `fdatasync`, fio `pwrite` and `fsync`; of a file that has grown both syncs \
         write the same. The time of dd is the one that it prints; that of fio is its `runtime`, \
         which begins before it opens the file and ends after its fsync. Both sides of a pair \
         write zeros, or data that does not compress, but for the one with dd, which has zeros \
         alone. fio's data is random once, and in each 512 bytes something of it is changed; \
         ioassay's is random once, and has a stamp in each 4 KiB."
    )) + &paragraph(&format!(
        "Random writes go over a file of 1 GiB that was written before, past the page cache, for \
         {seconds} s and without a sync: nothing of it is durable. CPU time is user and system \
         time of the whole process, from `/proc/PID/stat` and from fio's `usr_cpu` and `sys_cpu`."
    )) + &paragraph(&format!(
        "What the data costs is the time of an operation of the null engine that makes it, less \
         that of the null engine that reads, both {seconds} s; beside it stands the time of a \
         `pwrite` over a file of {cached} in the page cache, in order and without a sync, which \
         waits for no disk."
    ));
    let mut calls = calls.to_vec();
    calls.extend(Duel::calls(writing::DUELS, circumstances.time));
    let calls = commands(&calls);
    let details = format!("### Calls of others\n\n`FILE` stands for the test file.\n\n{calls}");
    section(circumstances, &method, rows, &details)
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::circumstances;
    use super::*;

    #[test]
    fn the_calls_of_fio_are_told() {
        let text = files(&circumstances(), &[]);
        assert!(text.contains("Each row has 7 pairs of trials of 2 s."), "{text}");
        assert!(text.contains("--ioengine=psync --rw=randread --bs=4k\n"), "{text}");
    }

    #[test]
    fn the_memory_section_tells_what_stood_in_the_way() {
        let missing = || "it is missing".to_owned();
        let ground = Ground {
            cores: 2,
            free_bytes: 1 << 34,
            array_bytes: Ok(128 << 20),
            likwid: Err(missing()),
            sysbench: Ok(()),
            chase: Err(missing()),
            numbers: Err(missing()),
            builds: Err(missing()),
        };
        for (huge_pages, expected) in [
            (Some("always"), "for this host gives them to all"),
            (Some("madvise"), "gives them by `madvise`"),
            (None, "it is not known"),
        ] {
            let notes = Notes {
                huge_pages: huge_pages.map(str::to_owned),
                events: Some(Events { ns: 200.0, inside_ns: 50.0 }),
                calls: vec!["likwid-bench -t load_avx".to_owned()],
            };
            let text = memory(&circumstances(), &ground, &notes, &[]);
            let text = text.replace('\n', " ");
            for expected in
                [expected, "An array has 128 MiB", "of the 200 ns", "50 ns (25 %)", "-t load_avx"]
            {
                assert!(text.contains(expected), "'{expected}' is not in {text}");
            }
        }
    }

    #[test]
    fn the_writing_section_tells_how_often_the_disk_was_not_quiet() {
        for (in_vain, expected) in
            [(0, "came about each of the 9 times"), (2, "did not come about 2 of 9 times")]
        {
            let calls = ["env LC_ALL=C dd of=FILE".to_owned()];
            let waits = Waits { all: 9, in_vain };
            let text = writing(&circumstances(), 1 << 29, waits, &calls, &[]);
            assert!(text.contains("\nenv LC_ALL=C dd of=FILE\nfio --name=bench"), "{text}");
            let text = text.replace('\n', " ");
            for expected in [expected, "What is durable is 512MiB", "--rw=randwrite"] {
                assert!(text.contains(expected), "'{expected}' is not in {text}");
            }
        }
    }
}
