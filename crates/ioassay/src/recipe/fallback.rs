//! What measures a device where the OS refuses io_uring, as the usual sandboxes of containers do.

use model::case::{Case, Engine, Io, OWN_PEER, Op, ReadWork, Submission, Work};
use model::case::{WriteEngine, WriteWork};
use model::host::Host;
use model::pattern::Share;
use model::plan::Skip;

/// Says that `host` refuses io_uring, if it does, and why.
pub fn refused(host: &Host) -> Option<String> {
    host.no_io_uring.as_ref().map(|refusal| format!("io_uring is refused here ({refusal})"))
}

/// Replaces io_uring by threads of pread and pwrite, if `host` refuses it. Returns the replaced
/// cases as skips. A case whose replacement is measured anyway is left to [`leave_out`].
pub fn replace<'a>(cases: impl IntoIterator<Item = &'a mut Case>, host: &Host) -> Vec<Skip> {
    let Some(refused) = refused(host) else { return Vec::new() };
    let reason = |case: &Case| {
        let (call, operation) =
            if case.read().is_some() { ("pread", "read") } else { ("pwrite", "operation") };
        format!(
            "{refused}. Instead, threads of {call} measure the device, one for each {operation} in \
             flight, which costs more CPU time"
        )
    };
    let mut cases: Vec<&mut Case> = cases.into_iter().collect();
    let mut skips = Vec::new();
    for index in 0..cases.len() {
        let Some(threads) = with_threads(cases[index]) else { continue };
        if cases.iter().any(|known| **known == threads) {
            continue;
        }
        let case = std::mem::replace(cases[index], threads);
        skips.push(Skip { reason: reason(&case), case });
    }
    skips
}

/// Takes out what `host` refuses and whose replacement is measured anyway. Returns it as skips.
pub(super) fn leave_out(cases: &mut Vec<Case>, host: &Host) -> Vec<Skip> {
    let Some(reason) = refused(host) else { return Vec::new() };
    let all = cases.clone();
    let is_measured = |case: &mut Case| with_threads(case).is_some_and(|it| all.contains(&it));
    cases.extract_if(.., is_measured).map(|case| Skip { reason: reason.clone(), case }).collect()
}

/// The same case with threads in place of a queue, if that is one of io_uring: as many operations
/// are in flight.
fn with_threads(case: &Case) -> Option<Case> {
    let work = match &case.work {
        Work::Read(work) if work.engine == Engine::Uring => {
            let (engine, submission) = (Engine::Pread, Submission::Enter);
            Work::Read(ReadWork { io: threads(&work.io)?, engine, submission, ..*work })
        }
        Work::Write(work) if work.engine == WriteEngine::Uring && work.op == Op::Write => {
            let engine = WriteEngine::Pwrite;
            Work::Write(WriteWork { io: threads(&work.io)?, engine, ..*work })
        }
        _ => return None,
    };
    (case.peer == OWN_PEER).then(|| Case { work, ..case.clone() })
}

/// Interleaved threads move a sequential file in order, like a queue. With one part of the file for
/// each thread, the device would serve as many streams.
fn threads(io: &Io) -> Option<Io> {
    let threads = io.depth.checked_mul(io.threads)?;
    let share = if io.depth > 1 { Share::Interleaved } else { io.share };
    Some(Io { depth: 1, threads, share, ..*io })
}

#[cfg(test)]
mod tests {
    use crate::group::ValueList;
    use crate::recipe::{Changes, find};
    use model::case::{Case, WriteEngine};
    use model::environment::Environment;
    use model::host::Host;
    use model::plan::{Plan, Role};
    use model::zoo;

    fn plan(recipe: &str, no_io_uring: Option<&str>) -> Plan {
        let no_io_uring = no_io_uring.map(str::to_string);
        let (host, storage) = (Host { no_io_uring, ..zoo::host() }, zoo::storage());
        let environment =
            Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
        let recipe = find(recipe).expect("it is built in");
        recipe.plan(&Changes::default(), &environment).expect("it has a plan")
    }

    fn ids(plan: &Plan, role: Role) -> Vec<String> {
        let of_role = plan.cases.iter().filter(|planned| planned.role == role);
        let ids = of_role.map(|planned| planned.case.id());
        ids.filter(|id| id.contains(" direct ")).collect()
    }

    #[test]
    fn a_survey_without_io_uring_reads_the_device_with_threads() {
        let with = plan("survey", None);
        assert!(with.skips.is_empty());
        assert!(ids(&with, Role::Asked).iter().all(|id| id.starts_with("uring ")));
        let without = plan("survey", Some("io_uring_setup: not permitted"));
        let expected = [
            "pread direct sequential 1MiB d1 t8 sum interleaved of 1GiB",
            "pread direct sequential 1MiB d1 pages:huge t8 sum interleaved of 1GiB",
            "pread direct sequential 1MiB d1 t32 sum interleaved of 1GiB",
            "pread direct sequential 1MiB d1 pages:huge t32 sum interleaved of 1GiB",
            "pread direct random 4KiB d1 t1 sum of 1GiB",
            "pread direct random 4KiB d1 t4 sum interleaved of 1GiB",
            "pread direct random 4KiB d1 t8 sum interleaved of 1GiB",
            "pread direct random 4KiB d1 t16 sum interleaved of 1GiB",
            "pread direct random 4KiB d1 t32 sum interleaved of 1GiB",
        ];
        assert_eq!(ids(&without, Role::Asked), expected);
        assert_eq!(ids(&without, Role::Baseline), ids(&with, Role::Baseline));
        let skipped: Vec<String> = without.skips.iter().map(|skip| skip.case.id()).collect();
        let (last, replaced) = skipped.split_last().expect("io_uring was asked for");
        assert_eq!(replaced, ids(&with, Role::Asked));
        // Threads of pread are measured there anyway, so nothing is measured instead.
        assert_eq!(last, "uring warm random 4KiB d1 t1 sum of 256MiB");
        assert!(!without.skips[replaced.len()].reason.contains("Instead"));
        let reason = &without.skips[0].reason;
        assert!(reason.contains("refused here (io_uring_setup: not permitted). Instead, threads"));
    }

    #[test]
    fn writes_and_actors_are_done_by_threads_too() {
        let without = plan("mixed", Some("no"));
        let asked = without.cases.iter().filter(|planned| planned.role == Role::Asked);
        let works: Vec<_> =
            asked.map(|planned| *planned.case.write().expect("it writes")).collect();
        let threads: Vec<_> = works.iter().map(|it| (it.io.depth, it.io.threads)).collect();
        assert_eq!(threads, [(1, 1), (1, 4), (1, 16), (1, 64)]);
        assert!(works.iter().all(|it| it.engine == WriteEngine::Pwrite && it.read_share == 70));
        let reason = &without.skips[0].reason;
        assert!(reason.contains("threads of pwrite measure the device, one for each operation"));
        let actors = |recipe, refused| {
            let ids = plan(recipe, refused).actors.into_iter().map(|actor| actor.case.id());
            ids.collect::<Vec<String>>()
        };
        for recipe in ["interference", "oltp", "lsm"] {
            let all = |refused| actors(recipe, refused);
            assert_eq!(all(None).len(), all(Some("no")).len(), "{recipe}");
            assert!(all(Some("no")).iter().all(|id| !id.contains("uring")), "{recipe}");
            let skips = plan(recipe, Some("no")).skips;
            assert!(skips.iter().all(|skip| skip.reason.contains("Instead, threads")), "{recipe}");
        }
        assert!(actors("interference", None).iter().any(|id| id.contains("uring")));
    }

    /// A recipe that compares engines must not measure one under another's name.
    #[test]
    fn the_rates_of_a_load_are_found_with_threads_too() {
        let host = Host { no_io_uring: Some("no".to_string()), ..zoo::host() };
        let environment =
            Environment { host: &host, storage: Some(&zoo::storage()), source: None, peers: &[] };
        let relatives = |changes: &Changes| {
            find("load").expect("it is built in").relatives(changes, &environment).expect("shares")
        };
        let expected = "pread direct random 4KiB d1 t32 sum interleaved of 1GiB";
        let loads = relatives(&Changes::default());
        assert_eq!((loads.len(), loads[0].closed().id().as_str()), (1, expected));
        assert_eq!(loads[0].at(500).id(), expected.replace("t32", "t32 rate:500"));
        let asked = [("engine".to_string(), ValueList::from_texts(vec!["uring".to_string()]))];
        let changes = Changes { axes: asked.into(), ..Changes::default() };
        assert!(relatives(&changes)[0].closed().id().starts_with("uring "), "it was asked for");
    }

    #[test]
    fn only_baselines_are_replaced_where_the_engine_is_the_question() {
        let (with, without) = (plan("read-methods", None), plan("read-methods", Some("no")));
        let asked = |plan: &Plan| {
            let asked = plan.cases.iter().filter(|planned| planned.role == Role::Asked);
            asked.map(|planned| planned.case.clone()).collect::<Vec<Case>>()
        };
        assert_eq!((asked(&with), &with.skips), (asked(&without), &without.skips));
        assert!(ids(&with, Role::Baseline).iter().all(|id| id.starts_with("uring ")));
        assert!(ids(&without, Role::Baseline).iter().all(|id| id.starts_with("pread ")));
    }
}
