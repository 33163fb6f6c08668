//! Whether a case and its actors can use one file.

use crate::case::{
    Allocation, BlockPlace, Cache, Case, Io, OWN_PEER, Op, ReadWork, Touch, Work, WriteEngine,
    WriteWork,
};
use crate::content::ContentKind;
use crate::generation::PAGE;
use crate::list::listed;
use crate::part::Whose;
use crate::plan::{Actor, ActorFile};
use crate::units;

/// Why `case` cannot be measured beside those of the `actors` that use its file.
pub fn refusal<'a>(case: &Case, actors: impl Iterator<Item = &'a Actor>) -> Option<String> {
    let sharing: Vec<&Actor> = actors.filter(|actor| actor.file == ActorFile::Case).collect();
    let names = listed(&sharing.iter().map(|actor| actor.name.as_str()).collect::<Vec<_>>());
    if sharing.is_empty() {
        return None;
    }
    let of_size = |actor: &&&Actor| actor.case.file_size() != case.file_size();
    let all = || sharing.iter().map(|actor| &actor.case).chain([case]);
    let reason = match all().filter(|case| case.write().is_some()).count() {
        _ if case.io().is_none() || case.is_null() => "this case uses no file".to_string(),
        _ if sharing.iter().find(of_size).is_some() => {
            "it has another size than the file of the case".to_string()
        }
        0 => return None,
        _ if case.io().is_some_and(|io| io.files == Whose::Shared) => {
            "several hosts share it, and what each writes there is not told apart".to_string()
        }
        1 => [state_refusal(case)].into_iter().chain(all().map(work_refusal)).flatten().next()?,
        _ => "only one of all that use a file can overwrite it: nobody knows what two leave there"
            .to_string(),
    };
    Some(format!("{names} would use the file of the case: {reason}"))
}

/// Why a case cannot start in the state that it claims while something writes its file.
fn state_refusal(case: &Case) -> Option<String> {
    if case.peer != OWN_PEER {
        return Some(
            "peers cannot tell what is read before it is overwritten from what is read after"
                .to_string(),
        );
    }
    let cache = case.cache().filter(|cache| !matches!(cache, Cache::Direct | Cache::AsIs))?;
    Some(format!(
        "cache '{cache}' does not last while the file is overwritten: use 'direct' or 'as-is'"
    ))
}

/// Why `case` cannot do its part on a file that is overwritten while others read it.
fn work_refusal(case: &Case) -> Option<String> {
    let reason = match &case.work {
        Work::Memory(_) | Work::Metadata(_) | Work::Command(_) => return None,
        Work::Read(ReadWork { io, .. }) | Work::Write(WriteWork { io, .. }) if !is_of_pages(io) => {
            let page = units::bytes(PAGE);
            return Some(format!(
                "pages of {page} tell what was written when: use blocks and a size that are \
                 multiples of {page}"
            ));
        }
        Work::Read(ReadWork { touch: Touch::Count, .. }) => {
            "what touch 'count' finds depends on when it reads: use 'sum' or 'none'"
        }
        Work::Read(work) if work.engine.place() == BlockPlace::Mapping => {
            "the bytes of a mapping change while they are looked at: use another engine"
        }
        Work::Write(work) if work.op != Op::Write || work.read_share > 0 => {
            "only plain writes overwrite a file that others read: use op 'write' without reads \
             among its operations"
        }
        Work::Write(work) if work.atomic.journal().is_some() => {
            "a transaction with a rollback journal is not written block by block: use atomic 'no'"
        }
        Work::Write(work) if work.allocation != Allocation::Overwrite => {
            "others cannot read what is not there yet: use allocation 'overwrite'"
        }
        Work::Write(work) if work.fill.kind() != ContentKind::Stamped => {
            "each pass must write other data: use fill 'random'"
        }
        Work::Write(WriteWork { engine: WriteEngine::Buffered, .. }) => {
            "what engine 'buffered' keeps in the program is not in the file yet: use another engine"
        }
        Work::Read(_) | Work::Write(_) => return None,
    };
    Some(reason.to_string())
}

fn is_of_pages(io: &Io) -> bool {
    io.least_block().is_multiple_of(PAGE) && io.size.is_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Engine, Fill};
    use crate::memory::MemoryWork;
    use crate::zoo;

    fn reader() -> ReadWork {
        let io = Io { cache: Cache::Direct, block: 8192, size: 1 << 20, ..zoo::plain().io };
        ReadWork { io, ..zoo::plain() }
    }

    fn writer() -> WriteWork {
        let io = Io { cache: Cache::Direct, block: 65536, size: 1 << 20, ..zoo::plain().io };
        WriteWork { io, allocation: Allocation::Overwrite, ..zoo::plain_write() }
    }

    /// Why there is no trial of `case` beside actors that do `others` in its file.
    fn check(case: Work, others: &[Work]) -> String {
        let actor = |other: &Work| Actor {
            file: ActorFile::Case,
            ..Actor::own("other", Case::own(other.clone()))
        };
        let actors: Vec<Actor> = others.iter().map(actor).collect();
        let own = Actor::own("apart", Case::own(Work::Write(WriteWork::default())));
        refusal(&Case::own(case), actors.iter().chain([&own])).unwrap_or_default()
    }

    #[test]
    fn readers_share_a_file_with_at_most_one_that_overwrites_it() {
        let (reads, writes) = (|| Work::Read(reader()), || Work::Write(writer()));
        for (case, others) in [
            (reads(), vec![]),
            (reads(), vec![writes()]),
            (reads(), vec![reads()]),
            (reads(), vec![reads(), writes()]),
            (writes(), vec![reads()]),
            (writes(), vec![reads(), reads()]),
        ] {
            assert_eq!(check(case, &others), "");
        }
        for (case, others) in [(writes(), vec![writes()]), (reads(), vec![writes(), writes()])] {
            assert!(check(case, &others).contains("only one of all that use a file"));
        }
    }

    #[test]
    fn what_would_prove_nothing_is_refused_with_its_reason() {
        let (read, write) = (reader(), writer());
        let io = |io: Io| Work::Read(ReadWork { io, ..read });
        let check_read = |work, expected: &str| {
            let said = check(work, &[Work::Write(write)]);
            assert!(said.starts_with("other would use the file of the case"), "{said}");
            assert!(said.contains(expected), "{said}");
        };
        check_read(io(Io { cache: Cache::Warm, ..read.io }), "use 'direct' or 'as-is'");
        check_read(io(Io { cache: Cache::Cold, ..read.io }), "use 'direct' or 'as-is'");
        check_read(io(Io { cache: Cache::DontCache, ..read.io }), "use 'direct' or 'as-is'");
        check_read(io(Io { block: 512, ..read.io }), "multiples of 4KiB");
        check_read(io(Io { size: 2 << 20, ..read.io }), "another size");
        check_read(
            Work::Read(ReadWork { touch: Touch::Count, ..read }),
            "depends on when it reads",
        );
        check_read(Work::Read(ReadWork { engine: Engine::Mmap, ..read }), "of a mapping");
        check_read(Work::Memory(MemoryWork::default()), "uses no file");
        for (other, expected) in [
            (WriteWork { fill: Fill::Zero, ..write }, "other data"),
            (WriteWork { allocation: Allocation::None, ..write }, "not there yet"),
            (WriteWork { op: Op::Sync, ..write }, "only plain writes"),
            (WriteWork { read_share: 50, ..write }, "only plain writes"),
            (WriteWork { engine: WriteEngine::Buffered, ..write }, "not in the file yet"),
            (WriteWork { io: Io { block: 6144, ..write.io }, ..write }, "multiples of 4KiB"),
        ] {
            let said = check(Work::Read(read), &[Work::Write(other)]);
            assert!(said.contains(expected), "{said}");
            let said = check(Work::Write(other), &[Work::Read(read)]);
            assert!(said.contains(expected), "{said}");
        }
    }
}
