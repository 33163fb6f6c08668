//! Work on the names of files: metadata.
//!
//! Each thread has as many names as the case has entries. A name is the digits of a word that the
//! seed determines, and a letter that a rename changes, so both the worker and the tool know which
//! names there must be at any time.

use crate::cache::Cache;
use crate::io::Io;
use crate::named;
use crate::part::Part;
use crate::pattern::{Pattern, Visits};
use crate::random::mix;
use crate::sample::Span;
use crate::taking_part::TakingPart;
use std::time::Duration;

named! {
    /// What is done to each name.
    Call "call" {
        /// Creates an empty file: `openat(2)` with `O_CREAT` and `O_EXCL`, and `close(2)`.
        Create "create",
        /// Reads a file's attributes: `fstatat(2)`.
        Stat "stat",
        /// Opens a file for reading, and closes it: `openat(2)` and `close(2)`.
        Open "open",
        /// Lists a directory: `getdents64(2)` until its end.
        Readdir "readdir",
        /// Gives a file another name in the same directory: `renameat(2)`.
        Rename "rename",
        /// Removes a file: `unlinkat(2)`.
        Unlink "unlink",
    }
}

named! {
    /// Which directory a thread's names are in.
    Directories "directories" {
        /// Each thread has a directory of its own.
        Own "own",
        /// All threads of all hosts have the same.
        Shared "shared",
    }
}

named! {
    /// What makes a change durable.
    NameSync "sync" {
        /// Nothing: the OS writes it when it likes.
        None "none",
        /// `fsync(2)` after each call: of a created file, and of the directory.
        Fsync "fsync",
    }
}

impl Call {
    /// Whether it looks names up that were there before.
    pub fn looks_up(self) -> bool {
        !matches!(self, Call::Create | Call::Readdir)
    }

    /// Whether it changes a directory.
    pub fn changes(self) -> bool {
        matches!(self, Call::Create | Call::Rename | Call::Unlink)
    }
}

/// Works on names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MetadataWork {
    /// The call.
    pub call: Call,
    /// Whose directory.
    pub place: Directories,
    /// Names of each thread.
    pub entries: u64,
    /// `warm`: the OS has all names and inodes in its caches. `cold`: none.
    pub cache: Cache,
    /// What makes a change durable.
    pub sync: NameSync,
    /// Which of the hosts of a run measure it.
    pub hosts: TakingPart,
    /// The host's place among those. It is no axis: it is set in the job of a trial.
    pub part: Part,
    /// Number of threads.
    pub threads: u32,
    /// The maximum duration of a trial. It ends sooner once each name was created, removed, or
    /// found cold.
    pub time: Duration,
}

impl Default for MetadataWork {
    fn default() -> MetadataWork {
        MetadataWork {
            call: Call::Stat,
            place: Directories::Own,
            entries: 1,
            cache: Cache::Warm,
            sync: NameSync::None,
            hosts: TakingPart::All,
            part: Part::WHOLE,
            threads: 1,
            time: Duration::ZERO,
        }
    }
}

/// Bytes of a name.
pub const NAME_BYTES: usize = 18;

/// A name: 16 digits, a dot and a letter.
pub type EntryName = [u8; NAME_BYTES];

/// The letter of a name, which a rename changes to the other one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Letter {
    /// The one with which it is created.
    A,
    /// The one after a rename.
    B,
}

impl Letter {
    /// The letter after so many renames.
    pub fn after(renames: u64) -> Letter {
        if renames.is_multiple_of(2) { Letter::A } else { Letter::B }
    }
}

impl MetadataWork {
    /// How often each call is followed by `fsync`: of the directory and, before it, of a file that
    /// it created.
    pub fn syncs_of_a_call(&self) -> u64 {
        match (self.sync, self.call) {
            (NameSync::None, _) => 0,
            (NameSync::Fsync, Call::Create) => 2,
            (NameSync::Fsync, _) => 1,
        }
    }

    /// The name `index` of `thread`.
    pub fn name(thread: u32, index: u64, letter: Letter, seed: u64) -> EntryName {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let word = mix(seed ^ mix(u64::from(thread) << 40 | index));
        let mut name = [b'.'; NAME_BYTES];
        for (place, digit) in name.iter_mut().take(16).enumerate() {
            *digit = DIGITS[(word >> (60 - 4 * place) & 15) as usize];
        }
        name[NAME_BYTES - 1] = if letter == Letter::A { b'a' } else { b'b' };
        name
    }

    /// Whether the bytes could be a name.
    pub fn is_name(bytes: &[u8]) -> bool {
        let is_digit = |byte: &u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(byte);
        matches!(bytes, [digits @ .., b'.', b'a' | b'b']
            if digits.len() == 16 && digits.iter().all(is_digit))
    }

    /// The digest of a name in a directory; those of several are added up.
    pub fn name_digest(bytes: &[u8]) -> u64 {
        let word = |part: &[u8]| part.iter().fold(0, |word, byte| word << 8 | u64::from(*byte));
        bytes.chunks(8).fold(bytes.len() as u64, |digest, part| mix(digest ^ word(part)))
    }

    /// The digest of finding that `thread`'s name `index` has this inode.
    pub fn inode_digest(index: u64, inode: u64) -> u64 {
        mix(inode.wrapping_add(mix(index)))
    }

    /// The directory of `thread`'s names, in the folder of a run.
    pub fn directory(&self, thread: u32) -> String {
        match self.place {
            Directories::Own => format!("own-{thread}{DIRECTORY}"),
            Directories::Shared => format!("shared{DIRECTORY}"),
        }
    }

    /// The names that one listing returns.
    pub fn listed(&self) -> u64 {
        match self.place {
            Directories::Own => self.entries,
            Directories::Shared => self.entries * u64::from(self.threads) * u64::from(self.part.of),
        }
    }

    /// One thread's operations in the form of those on a file, in which a name is a byte: a call
    /// for each name in random order, except that new names come in turn, and that one call lists
    /// all of them.
    pub fn io(&self) -> Io {
        let (pattern, size, block) = match self.call {
            Call::Create => (Pattern::Sequential, self.entries, 1),
            Call::Readdir => (Pattern::Sequential, self.listed(), self.listed()),
            Call::Stat | Call::Open | Call::Rename | Call::Unlink => {
                (Pattern::Random, self.entries, 1)
            }
        };
        Io { pattern, size, block: block.max(1), time: self.time, ..Io::default() }
    }

    /// The order in which `thread` takes its names in a trial with `seed`.
    pub fn visits(&self, thread: u32, seed: u64) -> Visits {
        self.io().visits(0, MetadataWork::seed_of(thread, seed))
    }

    /// The seed of `thread`'s order.
    pub fn seed_of(thread: u32, seed: u64) -> u64 {
        mix(seed ^ u64::from(thread))
    }

    /// Whether each name may be used more than once.
    pub fn repeats(&self) -> bool {
        self.cache != Cache::Cold && !matches!(self.call, Call::Create | Call::Unlink)
    }

    /// The names, in place of bytes, that a thread must report after `span.ops` operations. `None`
    /// if that number of operations is impossible.
    pub fn expected_bytes(&self, span: &Span) -> Option<u64> {
        let calls = self.io().blocks();
        let is_possible = self.repeats() || span.ops <= calls;
        is_possible.then(|| span.ops.checked_mul(self.io().block)).flatten()
    }

    /// The digest that a thread must report after its operations in `span`, if `inode` returns
    /// that of each of its names. `None` if the call sums nothing.
    pub fn expected_digest(
        &self,
        seed: u64,
        span: &Span,
        inode: impl Fn(u64) -> Option<u64>,
    ) -> Option<u64> {
        let of_name = |index: u64| match self.call {
            Call::Stat => Some(MetadataWork::inode_digest(index, inode(index)?)),
            _ => None,
        };
        let visits = self.visits(span.thread, seed);
        let (passes, rest) = (span.ops / visits.count().max(1), span.ops % visits.count().max(1));
        let mut digest = 0u64;
        for step in 0..visits.count() {
            let times = passes + u64::from(step < rest);
            if times > 0 {
                let (index, _) = visits.block(step);
                digest = digest.wrapping_add(of_name(index)?.wrapping_mul(times));
            }
        }
        Some(digest)
    }

    /// The names that must exist after a trial in which `thread` did `ops` operations, each by its
    /// index and letter.
    pub fn left(&self, thread: u32, seed: u64, ops: u64) -> Vec<(u64, Letter)> {
        let visits = self.visits(thread, seed);
        let index = |step| visits.block(step).0;
        let count = visits.count().max(1);
        match self.call {
            Call::Stat | Call::Open | Call::Readdir => {
                (0..self.entries).map(|index| (index, Letter::A)).collect()
            }
            Call::Create => (0..ops.min(count)).map(|step| (index(step), Letter::A)).collect(),
            Call::Unlink => (ops.min(count)..count).map(|step| (index(step), Letter::A)).collect(),
            Call::Rename => {
                let renames = |step| ops / count + u64::from(step < ops % count);
                (0..count).map(|step| (index(step), Letter::after(renames(step)))).collect()
            }
        }
    }

    /// Why no worker can do this.
    pub fn refusal(&self) -> Option<String> {
        let reason = match (self.call, self.cache) {
            (_, Cache::Direct | Cache::DontCache) => {
                "names have no direct access: use cache warm, cold or as-is"
            }
            (Call::Readdir, Cache::Cold) => {
                "no counter shows whether a directory's blocks were in a cache: use warm or as-is"
            }
            _ if self.entries == 0 || self.entries > ENTRIES_MOST => {
                return Some(format!("a thread has 1 to {ENTRIES_MOST} entries"));
            }
            _ => return None,
        };
        Some(format!("call {}: {reason}", self.call))
    }
}

/// The suffix of a directory for names.
pub const DIRECTORY: &str = ".names";

/// Maximum number of a thread's names: they are kept in memory.
pub const ENTRIES_MOST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, HashSet};

    fn work(call: Call) -> MetadataWork {
        MetadataWork { call, entries: 13, threads: 2, ..MetadataWork::default() }
    }

    #[test]
    fn names_differ_and_are_known() {
        let mut all = HashSet::new();
        for seed in [0, 7] {
            for thread in 0..3 {
                for index in 0..100 {
                    for letter in [Letter::A, Letter::B] {
                        let name = MetadataWork::name(thread, index, letter, seed);
                        assert!(MetadataWork::is_name(&name) && all.insert(name));
                    }
                }
            }
        }
        let digests: HashSet<u64> = all.iter().map(|it| MetadataWork::name_digest(it)).collect();
        assert_eq!(digests.len(), all.len());
        for other in ["", ".", "lock", "0123456789abcdef.c", "0123456789abcdeF.a", "x0123456.a"] {
            assert!(!MetadataWork::is_name(other.as_bytes()), "{other}");
        }
    }

    /// The oracle is a directory: a map from indexes to letters, on which each call is done.
    #[test]
    fn what_is_left_is_what_the_calls_leave() {
        for call in Call::ALL.iter().copied() {
            let work = work(call);
            for thread in 0..2 {
                let visits = work.visits(thread, 5);
                let most = if work.repeats() { 40 } else { visits.count() };
                for ops in 0..=most {
                    let before = if call == Call::Create { 0..0 } else { 0..13 };
                    let mut there: BTreeMap<u64, Letter> =
                        before.map(|index| (index, Letter::A)).collect();
                    for step in 0..ops {
                        let (index, _) = visits.block(step % visits.count());
                        match call {
                            Call::Create => drop(there.insert(index, Letter::A)),
                            Call::Unlink => drop(there.remove(&index).expect("it is there")),
                            Call::Rename => {
                                let letter = there.get_mut(&index).expect("it is there");
                                *letter = if *letter == Letter::A { Letter::B } else { Letter::A };
                            }
                            Call::Stat | Call::Open | Call::Readdir => {}
                        }
                    }
                    let mut left = work.left(thread, 5, ops);
                    left.sort_by_key(|(index, _)| *index);
                    assert_eq!(left, there.into_iter().collect::<Vec<_>>(), "{ops} of {call}");
                }
            }
        }
    }

    #[test]
    fn the_digest_is_that_of_each_operation() {
        let work = work(Call::Stat);
        let inode = |index| Some(1000 + 7 * index);
        let visits = work.visits(1, 5);
        let mut digest = 0u64;
        for ops in 0..40 {
            let span = Span { thread: 1, ops, ..Span::default() };
            assert_eq!(work.expected_digest(5, &span, inode), Some(digest));
            let (index, _) = visits.block(ops % visits.count());
            let inode = 1000 + 7 * index;
            digest = digest.wrapping_add(MetadataWork::inode_digest(index, inode));
        }
        let span = Span { ops: 3, ..Span::default() };
        assert_eq!(work.expected_digest(5, &span, |_| None), None);
    }

    #[test]
    fn a_listing_returns_all_names_of_its_directory() {
        let work = MetadataWork { part: Part { number: 1, of: 3 }, ..work(Call::Readdir) };
        assert_eq!((work.listed(), work.visits(0, 1).count()), (13, 1));
        let shared = MetadataWork { place: Directories::Shared, ..work };
        let span = Span { ops: 2, ..Span::default() };
        assert_eq!((shared.listed(), shared.expected_bytes(&span)), (78, Some(156)));
    }

    #[test]
    fn names_that_are_used_once_are_not_used_twice() {
        let span = |ops| Span { ops, ..Span::default() };
        for call in [Call::Create, Call::Unlink] {
            assert_eq!(work(call).expected_bytes(&span(13)), Some(13));
            assert_eq!(work(call).expected_bytes(&span(14)), None);
        }
        let cold = MetadataWork { cache: Cache::Cold, ..work(Call::Stat) };
        assert_eq!(cold.expected_bytes(&span(14)), None);
        assert_eq!(work(Call::Stat).expected_bytes(&span(14)), Some(14));
    }
}
