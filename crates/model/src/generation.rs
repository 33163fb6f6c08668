//! The contents of a file that one worker overwrites while others read it.
//!
//! Such a file has three contents: the one before the trial, and two that the writer writes in
//! turn, one in each pass. So a page of 4 KiB that was read tells when it was written, and one that
//! has parts of several contents was torn. With only one content to write, nothing would change
//! after the writer's first pass, which takes a tenth of a second on a fast device.

use crate::content::{
    Content, ContentKind, DIGEST_PAGE, STAMP_PAGE, STAMP_PERIOD, WORD_BYTES, weight,
};
use crate::random::mix;
use serde::{Deserialize, Serialize};

/// Size in bytes of the pages that are told apart.
pub const PAGE: u64 = STAMP_PAGE;

// The digest of a page must bind it to its place.
const _: () = assert!(PAGE == DIGEST_PAGE);

/// Words of a page.
const PAGE_WORDS: u64 = PAGE / WORD_BYTES;

/// Pages after which stamped content repeats, except for the stamps.
const PERIOD_PAGES: usize = (STAMP_PERIOD / STAMP_PAGE) as usize;

/// The contents of a file of `size` bytes in a trial with `seed`: the one before it, then those
/// that the writer writes in turn.
pub fn contents(seed: u64, size: u64) -> [Content; 3] {
    let content = |number: u64| {
        // Mixed first: contents of one seed must not be those of the next.
        let seed = mix(mix(seed) ^ number);
        Content { seed, size, kind: ContentKind::Stamped }
    };
    [0, 1, 2].map(content)
}

/// The index among the written contents of the one that a writer writes in `pass`, from 0.
pub fn turn(pass: u64) -> usize {
    (pass % 2) as usize
}

/// What reads of a file that was overwritten meanwhile returned: pages of [`PAGE`] bytes, by what
/// they held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PagesRead {
    /// Whole pages that the writer had not written in this trial.
    pub before: u64,
    /// Whole pages of the writer's first pass, its third and so on.
    pub first: u64,
    /// Whole pages of its second pass, its fourth and so on.
    pub second: u64,
    /// Pages with words of several contents.
    pub torn: u64,
    /// Pages with a word that nobody wrote there.
    pub wrong: u64,
    /// Operations that returned parts of several contents: whole pages or torn ones.
    pub mixed_ops: u64,
}

impl PagesRead {
    /// All pages.
    pub fn count(&self) -> u64 {
        let PagesRead { before, first, second, torn, wrong, mixed_ops: _ } = *self;
        [before, first, second, torn, wrong].into_iter().fold(0, u64::saturating_add)
    }

    /// Whole pages that were written in the trial.
    pub fn written(&self) -> u64 {
        self.first.saturating_add(self.second)
    }

    /// Whether what was read changed meanwhile, so that the reads and the writes overlapped.
    pub fn has_changed(&self) -> bool {
        let seen = [self.before, self.first, self.second].into_iter().filter(|count| *count > 0);
        self.torn > 0 || seen.count() > 1
    }

    /// The sum of both.
    pub fn plus(&self, other: &PagesRead) -> PagesRead {
        PagesRead {
            before: self.before.saturating_add(other.before),
            first: self.first.saturating_add(other.first),
            second: self.second.saturating_add(other.second),
            torn: self.torn.saturating_add(other.torn),
            wrong: self.wrong.saturating_add(other.wrong),
            mixed_ops: self.mixed_ops.saturating_add(other.mixed_ops),
        }
    }
}

/// Whether each word of the whole `page`, read at `offset`, is that of one of the `contents` there.
///
/// A copy through the page cache may end between any two words, not only between sectors.
pub fn is_mixture(contents: &[Content], offset: u64, page: &[u8]) -> bool {
    let (words, rest) = page.as_chunks::<{ WORD_BYTES as usize }>();
    let is_known = |(index, word): (u64, &[u8; 8])| {
        let word = u64::from_le_bytes(*word);
        contents.iter().any(|content| content.word(index) == word)
    };
    rest.is_empty() && (offset / WORD_BYTES..).zip(words).all(is_known)
}

/// The digests of the pages of stamped content, each in constant time and without a table that
/// grows with the file.
#[derive(Debug, Clone)]
pub struct PageDigests {
    content: Content,
    /// For each page of a period, the sum of its words after the stamp.
    rests: Box<[u64; PERIOD_PAGES]>,
}

impl PageDigests {
    /// The digests of `content`.
    ///
    /// # Panics
    /// If it is not stamped.
    pub fn new(content: Content) -> PageDigests {
        assert!(content.kind == ContentKind::Stamped, "only stamped content repeats");
        let rest = |page: usize| {
            let first = page as u64 * PAGE_WORDS;
            let words = (first + 1..first + PAGE_WORDS).map(|index| content.word(index));
            words.fold(0, u64::wrapping_add)
        };
        PageDigests { content, rests: Box::new(std::array::from_fn(rest)) }
    }

    /// The content.
    pub fn content(&self) -> Content {
        self.content
    }

    /// The digest of the whole page at `offset`, a multiple of [`PAGE`].
    #[inline]
    pub fn page(&self, offset: u64) -> u64 {
        let page = offset / PAGE;
        let stamp = self.content.word(page * PAGE_WORDS);
        let rest = self.rests[page as usize % PERIOD_PAGES];
        stamp.wrapping_add(rest).wrapping_mul(weight(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SIZE: u64 = 4 << 20;

    fn page_of(content: Content, offset: u64) -> Vec<u8> {
        let mut page = vec![0; PAGE as usize];
        content.fill(offset, &mut page);
        page
    }

    proptest! {
        #[test]
        fn a_page_has_the_digest_of_its_bytes(seed: u64, page in 0..SIZE / PAGE) {
            let offset = page * PAGE;
            for content in contents(seed, SIZE) {
                let digest = content.digest(offset..offset + PAGE);
                prop_assert_eq!(PageDigests::new(content).page(offset), digest);
            }
        }

        /// Wherever a page is torn, it is no whole page, and nothing in it is wrong.
        #[test]
        fn a_page_of_two_contents_is_a_mixture(
            seed: u64, page in 0..SIZE / PAGE, cut in 1..PAGE_WORDS, one in 0usize..3,
            more in 1usize..3, flipped in 0..PAGE as usize,
        ) {
            let (offset, contents) = (page * PAGE, contents(seed, SIZE));
            let mut torn = page_of(contents[one], offset);
            let other = page_of(contents[(one + more) % 3], offset);
            let cut = (cut * WORD_BYTES) as usize;
            torn[cut..].copy_from_slice(&other[cut..]);
            let digest = crate::content::digest_of(offset, &torn);
            for content in contents {
                prop_assert_ne!(PageDigests::new(content).page(offset), digest);
            }
            prop_assert!(is_mixture(&contents, offset, &torn));
            torn[flipped] ^= 1;
            prop_assert!(!is_mixture(&contents, offset, &torn));
        }
    }

    #[test]
    fn what_was_written_elsewhere_or_in_another_trial_is_no_mixture() {
        let contents = contents(1, SIZE);
        let wrong = [
            (page_of(contents[1], 0), "the page before"),
            (page_of(contents[1], PAGE + STAMP_PERIOD), "that of the next period"),
            (page_of(super::contents(2, SIZE)[1], PAGE), "that of another trial"),
            (vec![0; PAGE as usize], "zeros"),
        ];
        for (page, what) in wrong {
            assert!(!is_mixture(&contents, PAGE, &page), "{what}");
        }
        assert!(is_mixture(&contents, PAGE, &page_of(contents[2], PAGE)));
    }

    #[test]
    fn counts_of_a_damaged_record_do_not_overflow() {
        let most = PagesRead { before: u64::MAX, torn: u64::MAX, ..PagesRead::default() };
        assert_eq!(most.plus(&most), most);
        assert_eq!((most.count(), most.written()), (u64::MAX, 0));
    }

    #[test]
    fn pages_of_two_contents_show_a_change() {
        let changed = |before, first, second, torn| {
            PagesRead { before, first, second, torn, ..PagesRead::default() }.has_changed()
        };
        assert!(changed(1, 1, 0, 0) && changed(0, 1, 9, 0) && changed(0, 1, 0, 1));
        assert!(!changed(9, 0, 0, 0) && !changed(0, 9, 0, 0) && !changed(0, 0, 0, 0));
    }
}
