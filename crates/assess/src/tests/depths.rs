//! The depth that a device needs.

use super::*;
use crate::conclusions::depth::Depths;

/// Cases of these depths, each with how much slower than the record's own rounds it is.
fn check(depths: &[(u32, f64)], change: impl Fn(&mut Record)) -> Vec<Depths> {
    let plain = ReadWork { engine: Engine::Uring, ..work(Cache::Direct) };
    let mut record = flawless(plain);
    for &(depth, slowness) in depths {
        let case = file_case(ReadWork { io: Io { depth, ..plain.io }, ..plain });
        add(&mut record, case, Role::Asked, FILE, slowness, FILE);
    }
    record.trials.retain(|trial| trial.case > 0);
    change(&mut record);
    assess(&record).conclusions.depths
}

/// The bytes of a trial.
const FILE: u64 = 4096 * 1024;

#[test]
fn the_smallest_depth_with_nine_tenths_of_the_highest_rate_is_enough() {
    let found = check(&[(2, 2.0), (4, 1.05), (16, 1.0), (8, 1.02)], |_| {});
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].enough, found[0].fastest), (Some(4), 16));
    let depths: Vec<u32> = found[0].depths.iter().map(|it| it.depth).collect();
    assert_eq!(depths, [2, 4, 8, 16], "ascending");
}

#[test]
fn the_deepest_is_needed_only_if_all_others_are_slower() {
    let rising = [(2, 8.0), (4, 4.0), (8, 2.0)];
    assert_eq!(check(&rising, |_| {})[0].enough, Some(8));
    // Three rounds decide nothing.
    let few = |record: &mut Record| record.trials.retain(|trial| trial.round < 3);
    assert_eq!(check(&rising, few)[0].enough, None);
}

#[test]
fn two_depths_make_no_curve() {
    assert_eq!(check(&[(2, 2.0), (4, 1.0)], |_| {}), []);
}
