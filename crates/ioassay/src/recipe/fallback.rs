//! What measures a device where the OS refuses io_uring, as the usual sandboxes of containers do.

use model::case::{Case, Engine, Io, OWN_PEER, ReadWork, Submission, Work};
use model::host::Host;
use model::pattern::Share;
use model::plan::Skip;

/// Replaces reads with io_uring by threads of pread, if `host` refuses io_uring. Returns the
/// replaced cases as skips.
pub(super) fn replace(cases: &mut [Case], host: &Host) -> Vec<Skip> {
    let Some(refusal) = &host.no_io_uring else { return Vec::new() };
    let reason = format!(
        "io_uring is refused here ({refusal}). Instead, threads of pread measure the device, one \
         for each read in flight, which costs more CPU time"
    );
    let mut skips = Vec::new();
    for case in cases {
        let Some(threads) = with_threads(case) else { continue };
        let case = std::mem::replace(case, threads);
        skips.push(Skip { case, reason: reason.clone() });
    }
    skips
}

/// A case of pread with as many reads in flight as `case`, if that reads with io_uring.
///
/// Interleaved threads read a sequential file in order, like a queue. With one part of the file for
/// each thread, the device would serve as many streams.
fn with_threads(case: &Case) -> Option<Case> {
    let work = case.read().filter(|work| work.engine == Engine::Uring)?;
    let is_own = case.peer == OWN_PEER;
    let threads = work.io.depth.checked_mul(work.io.threads).filter(|_| is_own)?;
    let share = if work.io.depth > 1 { Share::Interleaved } else { work.io.share };
    let io = Io { depth: 1, threads, share, ..work.io };
    let (engine, submission) = (Engine::Pread, Submission::Enter);
    let work = Work::Read(ReadWork { io, engine, submission, ..*work });
    Some(Case { work, ..case.clone() })
}

#[cfg(test)]
mod tests {
    use crate::group::Values;
    use crate::recipe::{Changes, find};
    use model::case::Case;
    use model::environment::Environment;
    use model::host::Host;
    use model::plan::{Plan, Role};
    use model::zoo;

    fn plan(recipe: &str, no_io_uring: Option<&str>) -> Plan {
        let no_io_uring = no_io_uring.map(str::to_string);
        let (host, storage) = (Host { no_io_uring, ..zoo::host() }, zoo::storage());
        let environment = Environment { host: &host, storage: Some(&storage), peers: &[] };
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
            "pread direct sequential 1MiB d1 t32 sum interleaved of 1GiB",
            "pread direct random 4KiB d1 t1 sum of 1GiB",
            "pread direct random 4KiB d1 t32 sum interleaved of 1GiB",
        ];
        assert_eq!(ids(&without, Role::Asked), expected);
        assert_eq!(ids(&without, Role::Baseline), ids(&with, Role::Baseline));
        let skipped: Vec<String> = without.skips.iter().map(|skip| skip.case.id()).collect();
        assert_eq!(skipped, ids(&with, Role::Asked));
        let reason = &without.skips[0].reason;
        assert!(reason.contains("refused here (io_uring_setup: not permitted). Instead, threads"));
    }

    /// A recipe that compares engines must not measure one under another's name.
    #[test]
    fn the_rates_of_a_load_are_found_with_threads_too() {
        let host = Host { no_io_uring: Some("no".to_string()), ..zoo::host() };
        let environment = Environment { host: &host, storage: Some(&zoo::storage()), peers: &[] };
        let relatives = |changes: &Changes| {
            find("load").expect("it is built in").relatives(changes, &environment).expect("shares")
        };
        let expected = "pread direct random 4KiB d1 t32 sum interleaved of 1GiB";
        let loads = relatives(&Changes::default());
        assert_eq!((loads.len(), loads[0].closed().id().as_str()), (1, expected));
        assert_eq!(loads[0].at(500).id(), expected.replace("t32", "t32 rate:500"));
        let asked = [("engine".to_string(), Values::from_texts(vec!["uring".to_string()]))];
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
