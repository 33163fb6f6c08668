//! Every row of the table against a naive loop.
#![expect(clippy::print_stderr, reason = "a test that skips a row says which")]

use crate::{KERNELS, Run, Variant, available, best, cycle, digest, variant};
use model::case::{Isa, Kernel};
use model::content::{Content, Kind, digest_of};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Longer than two turns of any loop, with every remainder.
const WORDS_MAX: usize = 600;

/// The loops that this processor can run; those that it cannot are named.
fn runs() -> impl Iterator<Item = (&'static Variant, Run)> {
    KERNELS.iter().filter_map(|row| {
        if row.is_available() {
            return Some((row, row.run()));
        }
        eprintln!("skipped: {} {}: this processor lacks it", row.kernel(), row.isa());
        None
    })
}

fn random_bytes(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    Content { seed: 5, size: size as u64, kind: Kind::Random }.fill(0, &mut bytes);
    bytes
}

fn random_words(count: usize) -> Vec<u64> {
    let content = Content { seed: 7, size: 8 * count as u64, kind: Kind::Random };
    (0..count as u64).map(|index| content.word(index)).collect()
}

/// Every read sums up `words` as a naive loop does.
fn check_read(words: &[u64]) {
    let naive = words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    for (row, run) in runs() {
        if let Run::Read(read) = run {
            assert_eq!(read(words), naive, "{row:?} of {} words", words.len());
        }
    }
}

/// Every copy makes the part of `target` at `start` equal to `source`, and leaves the rest.
fn check_copy(source: &[u64], target: &[u64], start: usize) {
    let range = start..start + source.len();
    let mut naive = target.to_vec();
    naive[range.clone()].copy_from_slice(source);
    for (row, run) in runs() {
        if let Run::Copy(copy) = run {
            let mut target = target.to_vec();
            copy(&mut target[range.clone()], source);
            assert_eq!(target, naive, "{row:?} of {} words", source.len());
        }
    }
}

/// Every digest of `bytes` is the naive one.
fn check_digest(offset: u64, bytes: &[u8]) {
    let naive = digest_of(offset, bytes);
    for isa in available() {
        let digest = digest(isa).expect("an available isa has a digest");
        assert_eq!(digest(offset, bytes), naive, "{isa} of {} bytes at {offset}", bytes.len());
    }
}

/// `cycle` makes one cycle of all slots, touches no other word, and every chase goes round it.
fn check_cycle(count: usize, stride: usize, seed: u64) {
    const UNTOUCHED: u64 = u64::MAX;
    let mut words = vec![UNTOUCHED; count];
    cycle(&mut words, stride, seed);
    let slots = count.div_ceil(stride) as u64;
    let mut naive = 0;
    let mut visited = vec![false; count];
    for step in 0..slots {
        for (row, run) in runs() {
            if let Run::Chase(chase) = run {
                assert_eq!(chase(&words, 0, step), naive, "{row:?}: {step} steps");
            }
        }
        let place = naive as usize;
        assert!(!visited[place], "word {place} is visited twice");
        visited[place] = true;
        naive = words[place];
    }
    assert_eq!(naive, 0, "the cycle is not closed");
    for (place, word) in words.iter().enumerate() {
        let is_slot = place.is_multiple_of(stride);
        assert_eq!(visited[place], is_slot, "word {place}");
        assert_eq!(*word == UNTOUCHED, !is_slot, "word {place}");
    }
}

#[test]
fn the_table_has_each_row_once_and_every_kernel_as_scalar() {
    for kernel in Kernel::ALL.iter().copied() {
        assert!(variant(kernel, Isa::Scalar).is_some(), "{kernel} has no scalar row");
        for isa in Isa::ALL.iter().copied() {
            let is_row = |row: &&Variant| row.kernel() == kernel && row.isa() == isa;
            let rows: Vec<&Variant> = KERNELS.iter().filter(is_row).collect();
            assert!(rows.len() <= 1, "{kernel} {isa} is there twice");
            let available = rows.first().is_some_and(|row| row.is_available());
            assert_eq!(variant(kernel, isa).is_some(), available, "{kernel} {isa}");
        }
    }
    for row in KERNELS {
        assert_eq!(row.is_available(), available().contains(&row.isa()), "{row:?}");
    }
}

#[test]
fn a_row_holds_its_kernel() {
    for (row, run) in runs() {
        let kernel = match run {
            Run::Read(_) => Kernel::Read,
            Run::Copy(_) => Kernel::Copy,
            Run::Chase(_) => Kernel::Chase,
        };
        assert_eq!(row.kernel(), kernel, "{row:?}");
    }
}

#[test]
fn isas_are_in_order_and_the_best_is_the_last() {
    let available = available();
    assert_eq!(available[0], Isa::Scalar);
    assert!(available.is_sorted());
    assert_eq!(available.last(), Some(&best()));
    for isa in Isa::ALL.iter().copied() {
        assert_eq!(digest(isa).is_some(), available.contains(&isa), "{isa}");
    }
}

#[test]
fn a_read_sums_every_length_at_every_place_of_a_vector() {
    let words = random_words(WORDS_MAX + 8);
    for start in 0..8 {
        for length in 0..=WORDS_MAX {
            check_read(&words[start..start + length]);
        }
    }
}

#[test]
fn a_copy_of_every_length_writes_its_target_and_no_more() {
    let words = random_words(2 * WORDS_MAX + 16);
    let (source, target) = words.split_at(WORDS_MAX + 8);
    for start in 0..8 {
        for length in 0..=WORDS_MAX {
            check_copy(&source[7 - start..][..length], target, start);
        }
    }
}

#[test]
fn a_copy_refuses_another_length() {
    for (row, run) in runs() {
        if let Run::Copy(copy) = run {
            let refused = catch_unwind(AssertUnwindSafe(|| copy(&mut [0; 9], &[0; 8])));
            assert!(refused.is_err(), "{row:?} wrote 8 words to 9");
            let refused = catch_unwind(AssertUnwindSafe(|| copy(&mut [0; 8], &[0; 9])));
            assert!(refused.is_err(), "{row:?} wrote 9 words to 8");
        }
    }
}

#[test]
fn a_digest_is_naive_at_every_offset_alignment_and_length() {
    let bytes = random_bytes(WORDS_MAX + 8);
    for alignment in 0..8 {
        for offset in 0..8 {
            for length in 0..=WORDS_MAX {
                check_digest(offset, &bytes[alignment..alignment + length]);
            }
        }
    }
}

#[test]
fn a_digest_of_whole_blocks_is_naive() {
    let bytes = random_bytes((1 << 16) + 1);
    for size in [512, 4096, 4095, 4097, 1 << 16] {
        check_digest(1 << 40, &bytes[1..1 + size]);
    }
}

#[test]
fn a_cycle_of_few_words_is_closed() {
    for count in 0..40 {
        for stride in 1..=17 {
            check_cycle(count, stride, 3);
        }
    }
}

#[test]
fn a_seed_decides_the_cycle() {
    let cycle_of = |seed| {
        let mut words = vec![0; 1024];
        cycle(&mut words, 8, seed);
        words
    };
    assert_eq!(cycle_of(1), cycle_of(1));
    assert_ne!(cycle_of(1), cycle_of(2));
}

proptest! {
    #[test]
    fn any_words_are_read_and_copied(
        words in proptest::collection::vec(any::<u64>(), 0..2000), start in 0usize..2000,
    ) {
        let source = &words[start.min(words.len())..];
        check_read(source);
        check_copy(source, &words, words.len() - source.len());
    }

    #[test]
    fn any_bytes_have_their_digest(
        bytes in proptest::collection::vec(any::<u8>(), 0..10_000),
        start in 0usize..64, offset in 0u64..u64::MAX / 2,
    ) {
        check_digest(offset, &bytes[start.min(bytes.len())..]);
    }

    #[test]
    fn a_cycle_visits_all_slots(count in 0usize..3000, stride in 1usize..40, seed: u64) {
        check_cycle(count, stride, seed);
    }
}
