//! Loops over memory side by side: whether a case and the actors beside it can both run as they
//! should.
//!
//! Each thread has a CPU of its own. The case has the first that the program may use. The others
//! take those of other cores first, so that no thread shares the core of the case unless the recipe
//! asks for more threads than that.

use crate::case::{Case, Kernel, OWN_PEER, Work};
use crate::environment::Environment;
use crate::host::Host;
use crate::plan::Actor;

/// How many threads can run beside one without sharing its core; `None` if the OS does not report
/// which CPUs share one.
pub fn threads_apart(host: &Host) -> Option<u32> {
    let apart = host.platform.as_ref()?.processors.apart?;
    Some(apart.min(host.parallelism() - 1))
}

/// Why `case` cannot be measured beside `actors`, if one of these runs over memory.
pub fn refusal<'a>(
    case: &Case,
    actors: impl Iterator<Item = &'a Actor>,
    environment: &Environment,
) -> Option<String> {
    let actors: Vec<&Actor> = actors.collect();
    let on_memory = |case: &Case| case.memory().is_some();
    if !on_memory(case) && !actors.iter().any(|actor| on_memory(&actor.case)) {
        return None;
    }
    let others: u32 = actors.iter().map(|actor| actor.case.threads()).sum();
    let reason = match &case.work {
        _ if actors.is_empty() => return None,
        Work::Memory(work) if work.kernel == Kernel::Chase && work.threads == 1 => {
            (!actors.iter().all(|actor| on_memory(&actor.case))).then(|| {
                "work on storage runs beside work on storage, and loops over memory beside a chase"
                    .to_string()
            })
        }
        _ => Some("only a chase of one thread runs beside loops over memory".to_string()),
    };
    reason
        .or_else(|| {
            let is_own = case.peer == OWN_PEER;
            let reason = "a peer's threads have no CPUs of their own: use the peer rust";
            (!is_own).then(|| reason.to_string())
        })
        .or_else(|| cpus_refusal(environment.host, others))
        .or_else(|| {
            let all = actors.iter().map(|actor| &actor.case).chain([case]);
            let bytes = all.filter_map(Case::memory).map(|work| environment.footprint(work));
            environment.memory_refusal("all arrays together", bytes.fold(0, u64::saturating_add))
        })
}

/// Why there are not enough CPUs for as many threads beside one.
fn cpus_refusal(host: &Host, others: u32) -> Option<String> {
    match threads_apart(host) {
        _ if host.parallelism() == 1 => Some(
            "the threads beside the case need a processor of their own, and this program may use \
             only 1"
                .to_string(),
        ),
        None => Some(
            "the OS does not report which CPUs share a core, so threads beside the case could take \
             part of its core"
                .to_string(),
        ),
        Some(0) => Some(
            "all CPUs that this program may use share one core: what runs beside the case would \
             take part of it"
                .to_string(),
        ),
        Some(_) if others >= host.parallelism() => Some(format!(
            "{others} threads beside the case need a processor each, and {} are left",
            host.parallelism() - 1
        )),
        Some(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice::from_ref;

    use crate::memory::MemoryWork;
    use crate::platform::{Platform, Processors};
    use crate::zoo;

    fn host(cores: u32, apart: Option<u32>) -> Host {
        let processors = Processors { apart, ..Processors::default() };
        let platform = Some(Box::new(Platform { processors, ..Platform::default() }));
        Host { cores, platform, ..zoo::host() }
    }

    fn memory(kernel: Kernel, threads: u32) -> Case {
        let working_set = 1 << 30;
        Case::own(Work::Memory(MemoryWork { kernel, threads, working_set, ..Default::default() }))
    }

    fn reason(host: &Host, case: &Case, actors: &[Case]) -> String {
        let environment = Environment { host, storage: None, source: None, peers: &[] };
        let actors: Vec<Actor> = actors.iter().map(|it| Actor::own("a", it.clone())).collect();
        refusal(case, actors.iter(), &environment).unwrap_or_default()
    }

    #[test]
    fn threads_beside_a_chase_have_other_cores_unless_more_are_asked_for() {
        let chase = memory(Kernel::Chase, 1);
        let check = |cores, apart, threads| {
            reason(&host(cores, apart), &chase, &[memory(Kernel::Read, threads)])
        };
        assert_eq!(check(2, Some(1), 1), "");
        assert_eq!(check(8, Some(6), 6), "");
        // The sibling is asked for.
        assert_eq!(check(8, Some(6), 7), "");
        assert!(check(8, Some(6), 8).contains("8 threads beside the case"));
        assert!(check(1, Some(0), 1).contains("only 1"));
        assert!(check(2, Some(0), 1).contains("share one core"));
        assert!(check(2, None, 1).contains("does not report which CPUs share a core"));
    }

    #[test]
    fn a_quota_leaves_fewer_threads() {
        let host = |cpu_quota| Host { cpu_quota, ..host(8, Some(6)) };
        let threads = |quota| threads_apart(&host(quota));
        assert_eq!([None, Some(4.0), Some(1.0)].map(threads), [Some(6), Some(3), Some(0)]);
    }

    #[test]
    fn only_loops_that_move_bytes_run_beside_a_chase() {
        let host = host(8, Some(7));
        let (chase, read) = (memory(Kernel::Chase, 1), memory(Kernel::Read, 2));
        let file = Case::own(Work::Read(zoo::plain()));
        let only = |case: &Case, actors: &[Case]| reason(&host, case, actors);
        assert_eq!(only(&chase, &[]), "");
        assert_eq!(only(&file, from_ref(&file)), "");
        assert!(only(&read, from_ref(&read)).contains("only a chase"));
        assert!(only(&memory(Kernel::Chase, 2), from_ref(&read)).contains("only a chase"));
        assert!(only(&file, from_ref(&read)).contains("only a chase"));
        assert!(only(&chase, &[file]).contains("work on storage"));
        let peer = Case { peer: "zebra".to_string(), ..chase.clone() };
        assert!(only(&peer, &[read]).contains("peer rust"));
        let large = |kernel| {
            let mut case = memory(kernel, 1);
            case.memory_mut().expect("it is on memory").working_set = 8 << 30;
            case
        };
        // Each alone would fit into 15 GiB.
        let both = only(&large(Kernel::Chase), &[large(Kernel::Read)]);
        assert!(both.contains("all arrays together"), "{both}");
    }
}
