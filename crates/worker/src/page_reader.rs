//! Touches the bytes of a file that another worker overwrites: each page tells when it was written.

use crate::drive::Consume;
use kernel::Digest;
use model::generation::{PAGE, PageDigests, PagesRead, is_mixture};
use model::sample::Span;

/// Digests each page and counts it by the content that it has.
#[derive(Debug, Clone)]
pub struct PageReader<'a> {
    digest: Digest,
    /// The digests of the content before the trial, and of those that are written in turn.
    contents: &'a [PageDigests; 3],
    /// Whole pages of each content.
    whole: [u64; 3],
    /// The others, and the operations with several contents.
    rest: PagesRead,
}

impl<'a> PageReader<'a> {
    /// A reader of a file with these contents.
    pub fn new(digest: Digest, contents: &'a [PageDigests; 3]) -> PageReader<'a> {
        PageReader { digest, contents, whole: [0; 3], rest: PagesRead::default() }
    }

    /// Counts a page that has none of the digests. Nothing more can be said of a part of a page.
    #[cold]
    #[inline(never)]
    fn look_at(&mut self, offset: u64, page: &[u8]) -> bool {
        let contents = self.contents.each_ref().map(PageDigests::content);
        let is_torn = is_mixture(&contents, offset, page);
        self.rest.torn += u64::from(is_torn);
        self.rest.wrong += u64::from(!is_torn);
        is_torn
    }
}

impl Consume for PageReader<'_> {
    #[inline(always)]
    fn consume(&mut self, offset: u64, bytes: &[u8]) -> u64 {
        // A bit for each content, and all of them for a torn page.
        let (mut sum, mut seen) = (0u64, 0u32);
        for (offset, page) in (offset..).step_by(PAGE as usize).zip(bytes.chunks(PAGE as usize)) {
            let digest = (self.digest)(offset, page);
            sum = sum.wrapping_add(digest);
            let is_whole = |content: &PageDigests| content.page(offset) == digest;
            match self.contents.iter().position(is_whole) {
                Some(number) => {
                    self.whole[number] += 1;
                    seen |= 1 << number;
                }
                None if self.look_at(offset, page) => seen |= 0b111,
                None => {}
            }
        }
        self.rest.mixed_ops += u64::from(seen.count_ones() > 1);
        sum
    }

    fn tell(&self, span: Span) -> Span {
        let [before, first, second] = self.whole;
        Span { pages: Some(PagesRead { before, first, second, ..self.rest }), ..span }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::Isa;
    use model::generation::contents;

    const SIZE: u64 = 1 << 20;

    /// What is told of a read at page 7 of pages of these contents, 3 being wrong. `cut` is where
    /// the first page goes on with that of content 2, if anywhere.
    fn check(pages: &[usize], cut: Option<usize>) -> PagesRead {
        let contents = contents(5, SIZE);
        let offset = 7 * PAGE;
        let mut bytes = vec![0; pages.len() * PAGE as usize];
        for ((offset, page), number) in
            (offset..).step_by(PAGE as usize).zip(bytes.chunks_mut(PAGE as usize)).zip(pages)
        {
            if let Some(content) = contents.get(*number) {
                content.fill(offset, page);
            }
        }
        if let Some(cut) = cut {
            let mut other = vec![0; PAGE as usize];
            contents[2].fill(offset, &mut other);
            bytes[cut..PAGE as usize].copy_from_slice(&other[cut..]);
        }
        let digests = contents.map(PageDigests::new);
        let digest = kernel::digest(Isa::Auto, None).expect("there is a loop for every processor");
        let mut reader = PageReader::new(digest, &digests);
        assert_eq!(reader.consume(offset, &bytes), digest(offset, &bytes));
        reader.tell(Span::default()).pages.expect("it counts pages")
    }

    #[test]
    fn pages_are_counted_by_when_they_were_written() {
        let none = PagesRead::default();
        assert_eq!(check(&[0, 0], None), PagesRead { before: 2, ..none });
        assert_eq!(check(&[2], None), PagesRead { second: 1, ..none });
        let mixed = PagesRead { before: 1, first: 1, mixed_ops: 1, ..none };
        assert_eq!(check(&[1, 0], None), mixed);
        let all = PagesRead { before: 1, first: 1, second: 1, wrong: 1, mixed_ops: 1, ..none };
        assert_eq!(check(&[0, 1, 2, 3], None), all);
        assert_eq!(check(&[3, 1], None), PagesRead { first: 1, wrong: 1, ..none });
    }

    #[test]
    fn a_page_that_changed_while_it_was_read_is_torn() {
        let none = PagesRead::default();
        let torn = PagesRead { torn: 1, mixed_ops: 1, ..none };
        for cut in [8, 512, 1000, 2048, 4088] {
            assert_eq!(check(&[1], Some(cut)), torn, "{cut}");
        }
        assert_eq!(check(&[1], Some(4096)), PagesRead { first: 1, ..none });
        assert_eq!(check(&[1, 1], Some(512)), PagesRead { first: 1, ..torn });
        // What lies before the cut was written by nobody.
        assert_eq!(check(&[3], Some(512)), PagesRead { wrong: 1, ..none });
    }
}
