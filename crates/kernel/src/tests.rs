//! Compares every row of the table with a naive loop.
#![expect(clippy::print_stderr, reason = "a test that skips a row says which")]

use crate::{
    FORMS, Loop, Variant, available, candidates, count, cycle, digest, variant, variants, widest,
};
use model::content::{Content, ContentKind, digest_of};
use model::memory::{Isa, Kernel};
use proptest::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

/// Longer than nine turns of any loop, so that every remainder occurs.
const WORDS_MAX: usize = 600;

/// Two blocks of streams, followed by turns, vectors and words.
const BLOCKS_WORDS: usize = (9 << 20) / 8 + 64 + 13;

/// The loops that this processor can run. Prints the shapes of others once.
fn runs() -> impl Iterator<Item = (Variant, Loop)> {
    static NAMED: Once = Once::new();
    NAMED.call_once(|| {
        for form in FORMS.iter().filter(|form| !available().contains(&form.shape.isa)) {
            eprintln!("skipped: {}: this processor lacks it", form.shape);
        }
    });
    variants().map(|row| (row, row.run))
}

fn random_bytes(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    Content { seed: 5, size: size as u64, kind: ContentKind::Random }.fill(0, &mut bytes);
    bytes
}

/// Integers below 20.
fn random_ints(size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size];
    Content { seed: 9, size: size as u64, kind: ContentKind::Ints(20) }.fill(0, &mut bytes);
    bytes
}

fn random_words(count: usize) -> Vec<u64> {
    let content = Content { seed: 7, size: 8 * count as u64, kind: ContentKind::Random };
    (0..count as u64).map(|index| content.word(index)).collect()
}

/// Every read returns the naive sum of `words`.
fn check_read(words: &[u64]) {
    let naive = words.iter().fold(0u64, |sum, word| sum.wrapping_add(*word));
    for (row, run) in runs() {
        if let Loop::Read(read) = run {
            assert_eq!(read(words), naive, "{row:?} of {} words", words.len());
        }
    }
}

/// Every loop that writes gives the naive result in the part of `target` at `start`, as long as the
/// sources, and leaves the rest unchanged.
fn check_written(b: &[u64], c: &[u64], target: &[u64], start: usize) {
    const FACTOR: f64 = 0.7;
    let range = start..start + b.len();
    let word = target.first().copied().unwrap_or_default();
    let naive = |written: &mut dyn Iterator<Item = u64>| {
        let mut naive = target.to_vec();
        naive[range.clone()].iter_mut().zip(written).for_each(|(to, word)| *to = word);
        naive
    };
    let [fill, same] = [naive(&mut std::iter::repeat(word)), naive(&mut b.iter().copied())];
    let (doubles_b, doubles_c) = (doubles(b), doubles(c));
    let pairs = doubles_b.iter().zip(&doubles_c);
    let triads = naive(&mut pairs.map(|(b, c)| (b + FACTOR * c).to_bits()));
    for (row, run) in runs() {
        let mut target = target.to_vec();
        let part = &mut target[range.clone()];
        let naive = match run {
            Loop::Write(write) => {
                write(part, word);
                &fill
            }
            Loop::Copy(copy) => {
                copy(part, b);
                &same
            }
            Loop::Triad(triad) => {
                let mut doubles: Vec<f64> = part.iter().map(|word| f64::from_bits(*word)).collect();
                triad(&mut doubles, &doubles_b, &doubles_c, FACTOR);
                part.iter_mut().zip(doubles).for_each(|(to, double)| *to = double.to_bits());
                &triads
            }
            _ => continue,
        };
        assert!(target == *naive, "{row:?} of {} words at {start}", b.len());
    }
}

/// Doubles of all magnitudes from arbitrary words; none is NaN.
fn doubles(words: &[u64]) -> Vec<f64> {
    words.iter().map(|word| word.cast_signed() as f64 * 1e-9).collect()
}

/// Every count of `bytes` equals the naive one.
fn check_count(bytes: &[u8], value: u32) {
    let ints = bytes.as_chunks::<4>().0;
    let naive = ints.iter().filter(|int| u32::from_le_bytes(**int) == value).count() as u64;
    for (row, run) in runs() {
        if let Loop::Count(count) = run {
            assert_eq!(count(bytes, value), naive, "{row:?} of {} bytes", bytes.len());
        }
    }
}

/// Every digest of `bytes` equals the naive one.
fn check_digest(offset: u64, bytes: &[u8]) {
    let naive = digest_of(offset, bytes);
    for row in variants().filter(|row| row.kernel == Kernel::Read) {
        let digest = digest(Isa::Auto, Some(row.shape)).expect("a shape that reads has a digest");
        let shape = row.shape;
        assert_eq!(digest(offset, bytes), naive, "{shape} of {} bytes at {offset}", bytes.len());
    }
}

/// `cycle` links all slots into one cycle and changes no other word; every chase follows it.
fn check_cycle(count: usize, stride: usize, seed: u64) {
    const UNTOUCHED: u64 = u64::MAX;
    let mut words = vec![UNTOUCHED; count];
    cycle(&mut words, stride, seed);
    let slots = count.div_ceil(stride) as u64;
    let mut naive = 0;
    let mut visited = vec![false; count];
    for step in 0..slots {
        for (row, run) in runs() {
            if let Loop::Chase(chase) = run {
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

/// Whether a kernel has non-temporal stores.
fn is_non_temporal(kernel: Kernel) -> bool {
    matches!(kernel, Kernel::WriteNt | Kernel::CopyNt | Kernel::TriadNt)
}

#[test]
fn the_table_has_each_shape_once_and_every_kernel_as_scalar() {
    for kernel in Kernel::ALL.iter().copied() {
        let has_scalar = cfg!(target_arch = "x86_64") || !is_non_temporal(kernel);
        assert_eq!(variant(kernel, Isa::Scalar, None).is_some(), has_scalar, "{kernel}");
    }
    for (place, form) in FORMS.iter().enumerate() {
        assert!(FORMS[..place].iter().all(|other| other.shape != form.shape), "{}", form.shape);
        let of_shape = || variants().filter(|row| row.shape == form.shape);
        let is_available = available().contains(&form.shape.isa);
        assert_eq!(of_shape().next().is_some(), is_available, "{}", form.shape);
        let is_vector = form.shape.isa != Isa::Scalar;
        let has_vectors = |row: Variant| row.kernel.has_vectors();
        assert!(!is_vector || of_shape().all(has_vectors), "{}", form.shape);
    }
}

/// An explicit isa always has the same shape, whatever the fastest is: it is an axis of a case.
#[test]
fn each_isa_has_a_usual_shape() {
    for isa in available() {
        let row = variant(Kernel::Read, isa, None).expect("an available isa reads");
        assert_eq!(row.shape.to_string(), format!("{isa}-8x3"));
    }
}

#[test]
fn at_most_eight_shapes_are_candidates_and_the_widest_comes_first() {
    for kernel in Kernel::ALL.iter().copied().filter(|kernel| kernel.has_vectors()) {
        let all = candidates(kernel);
        assert!((1..=8).contains(&all.len()), "{kernel}: {all:?}");
        let usual = variant(kernel, Isa::Auto, None).expect("every processor has it");
        assert_eq!(all[0].shape, usual.shape, "{kernel}");
        assert!(all.iter().rev().is_sorted_by_key(|row| row.shape.isa), "{kernel}: {all:?}");
        let has_vectors = available().len() > 1;
        let has_scalar = all.iter().any(|row| row.shape.isa == Isa::Scalar);
        assert_eq!(has_scalar, !has_vectors, "{kernel}");
    }
}

#[test]
fn a_vector_isa_has_every_kernel_that_has_vectors() {
    for isa in available().into_iter().filter(|isa| *isa != Isa::Scalar) {
        for kernel in Kernel::ALL.iter().copied() {
            assert_eq!(
                variant(kernel, isa, None).is_some(),
                kernel.has_vectors(),
                "{kernel} {isa}"
            );
        }
    }
}

#[test]
fn auto_is_the_widest_that_there_is() {
    for kernel in Kernel::ALL.iter().copied() {
        let isas = available().into_iter().filter(|isa| variant(kernel, *isa, None).is_some());
        let auto = variant(kernel, Isa::Auto, None).map(|row| row.shape.isa);
        assert_eq!(auto, isas.max(), "{kernel}");
    }
    let auto = |kernel| variant(kernel, Isa::Auto, None).map(|row| row.shape.isa);
    assert_eq!(auto(Kernel::Read), Some(widest()));
    assert_eq!(auto(Kernel::Chase), Some(Isa::Scalar));
    let digest = digest(Isa::Auto, None).expect("the widest has a digest");
    assert_eq!(digest(3, b"any bytes"), digest_of(3, b"any bytes"));
    let count = count(Isa::Auto, None).expect("the widest has a count");
    assert_eq!(count(&[10, 0, 0, 0, 10], 10), 1);
}

#[test]
fn a_row_holds_its_kernel() {
    for (row, run) in runs() {
        let kernels: &[Kernel] = match run {
            Loop::Read(_) => &[Kernel::Read],
            Loop::Write(_) => &[Kernel::Write, Kernel::WriteNt],
            Loop::Copy(_) => &[Kernel::Copy, Kernel::CopyNt],
            Loop::Triad(_) => &[Kernel::Triad, Kernel::TriadNt],
            Loop::Count(_) => &[Kernel::Count],
            Loop::Chase(_) => &[Kernel::Chase],
            Loop::TouchPages(_) => &[Kernel::TouchPages, Kernel::FirstTouch],
            Loop::ReadPages(_) => &[Kernel::ReadPages],
        };
        assert!(kernels.contains(&row.kernel), "{row:?}");
    }
}

#[test]
fn isas_are_in_order_and_the_widest_is_the_last() {
    let available = available();
    assert_eq!(available[0], Isa::Scalar);
    assert!(available.is_sorted());
    assert_eq!(available.last(), Some(&widest()));
    for isa in Isa::ALL.iter().copied().filter(|isa| *isa != Isa::Auto) {
        assert_eq!(digest(isa, None).is_some(), available.contains(&isa), "{isa}");
        assert_eq!(count(isa, None).is_some(), available.contains(&isa), "{isa}");
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
fn every_length_is_written_at_every_place_of_a_line_and_no_more() {
    let words = random_words(3 * WORDS_MAX + 24);
    let (b, rest) = words.split_at(WORDS_MAX + 8);
    let (c, target) = rest.split_at(WORDS_MAX + 8);
    for start in 0..8 {
        for length in 0..=WORDS_MAX {
            check_written(&b[7 - start..][..length], &c[start / 2..][..length], target, start);
        }
    }
}

#[test]
fn arrays_of_several_streams_are_read_and_written() {
    let words = random_words(BLOCKS_WORDS + 3);
    check_read(&words[3..]);
    check_written(&words[1..][..BLOCKS_WORDS], &words[..BLOCKS_WORDS], &words, 2);
    let bytes = random_ints(8 * BLOCKS_WORDS + 3);
    check_count(&bytes[3..], 10);
}

#[test]
fn what_is_written_needs_sources_as_long() {
    fn check(row: Variant, run: impl FnOnce()) {
        assert!(catch_unwind(AssertUnwindSafe(run)).is_err(), "{row:?} took another length");
    }
    for (row, run) in runs() {
        for (target, source) in [(9, 8), (8, 9), (0, 1), (65, 64)] {
            if let Loop::Copy(copy) = run {
                check(row, || copy(&mut vec![0; target], &vec![0; source]));
            }
            if let Loop::Triad(triad) = run {
                let [same, other] = [target, source].map(|length| vec![0.0; length]);
                check(row, || triad(&mut vec![0.0; target], &same, &other, 3.0));
                check(row, || triad(&mut vec![0.0; target], &other, &same, 3.0));
            }
        }
    }
}

#[test]
fn a_count_is_naive_at_every_alignment_and_length() {
    let bytes = random_ints(WORDS_MAX + 8);
    for alignment in 0..8 {
        for length in 0..=WORDS_MAX {
            check_count(&bytes[alignment..alignment + length], 10);
        }
    }
}

#[test]
fn a_count_of_equal_values_does_not_overflow() {
    for value in [0, 10, u32::MAX] {
        let bytes = value.to_le_bytes().repeat(1 << 18);
        check_count(&bytes, value);
        check_count(&bytes, !value);
    }
    // Long enough that 32-bit counts are added to the 64-bit one more than once.
    let bytes = vec![0; (64 << 20) + (5 << 20) + 4 * 7 + 2];
    check_count(&bytes, 0);
}

#[test]
fn the_halves_of_a_word_are_counted_apart() {
    for words in [[10u64, 10 << 32], [10 << 32 | 10, 0], [10 << 16, 10 << 8]] {
        let bytes = words.map(u64::to_le_bytes).as_flattened().repeat(100);
        check_count(&bytes, 10);
    }
}

#[test]
fn pages_are_touched_in_their_first_word() {
    for kernel in [Kernel::TouchPages, Kernel::FirstTouch] {
        let Loop::TouchPages(touch) = variant(kernel, Isa::Auto, None).expect("a row").run else {
            panic!("the row of {kernel} holds another loop")
        };
        for (count, step) in touches() {
            let mut words = vec![7; count];
            touch(&mut words, step, 9);
            for (place, word) in words.iter().enumerate() {
                let naive = if place.is_multiple_of(step) { 9 } else { 7 };
                assert_eq!(*word, naive, "{place} of {count} by {step}");
            }
        }
    }
}

#[test]
fn pages_are_read_in_their_first_word() {
    let Loop::ReadPages(read) = variant(Kernel::ReadPages, Isa::Auto, None).expect("a row").run
    else {
        panic!("the row holds another loop")
    };
    let words = random_words(5000);
    for (count, step) in touches() {
        let mut naive = 0u64;
        for (place, word) in words[..count].iter().enumerate() {
            naive = naive.wrapping_add(if place.is_multiple_of(step) { *word } else { 0 });
        }
        assert_eq!(read(&words[..count], step), naive, "{count} by {step}");
    }
}

/// Pairs of a word count and a step: a line, a 4 KiB page or a 16 KiB page.
fn touches() -> impl Iterator<Item = (usize, usize)> {
    let counts = [0, 1, 511, 512, 513, 1024, 5000];
    [8, 512, 2048].into_iter().flat_map(move |step| counts.map(|count| (count, step)))
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
    fn any_words_are_read_and_written(
        words in proptest::collection::vec(any::<u64>(), 0..2000),
        start in 0usize..2000, place in 0usize..2000,
    ) {
        let b = &words[start.min(words.len())..];
        let place = place.min(words.len() - b.len());
        check_read(b);
        check_written(b, &words[place..][..b.len()], &words, words.len() - b.len());
    }

    #[test]
    fn any_bytes_have_their_count(
        bytes in proptest::collection::vec(0u8..2, 0..10_000),
        start in 0usize..64, value in 0u32..2,
    ) {
        check_count(&bytes[start.min(bytes.len())..], value);
        check_count(&bytes[start.min(bytes.len())..], value << 8);
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
