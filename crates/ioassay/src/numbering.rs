//! The numbers of the cases of a gate, which are the same on both sides.

use model::case::{Case, Populated};
use model::plan::{Planned, Role};
use std::collections::VecDeque;

/// The cases of both sides, each with the same number as its partner. What is kept in memory can be
/// there in one way only, so its partner may be cached in another way.
pub(crate) fn numbered([a, b]: [&[Planned]; 2], is_any_in_memory: bool) -> [Vec<Planned>; 2] {
    let mut left: VecDeque<&Planned> = b.iter().collect();
    // A case and its twin are the same case.
    let mut take = |role: Role, is_it: &dyn Fn(&Case) -> bool| {
        let are_twins = |other: Role| (other == Role::Twin) == (role == Role::Twin);
        let place = left.iter().position(|it| are_twins(it.role) && is_it(&it.case));
        place.and_then(|at| left.remove(at))
    };
    let mut partners: Vec<_> =
        a.iter().map(|it| take(it.role, &|other| *other == it.case)).collect();
    for (it, partner) in a.iter().zip(&mut partners).filter(|_| is_any_in_memory) {
        let case = cached_anyhow(&it.case);
        *partner = partner.or_else(|| take(it.role, &|other| cached_anyhow(other) == case));
    }
    let elsewhere = |it: &Planned| Planned { role: Role::Elsewhere, case: it.case.clone() };
    let of_b =
        a.iter().zip(partners).map(|(it, partner)| partner.cloned().unwrap_or(elsewhere(it)));
    let of_b: Vec<Planned> = of_b.chain(left.iter().map(|it| (*it).clone())).collect();
    let of_a = a.iter().cloned().chain(left.into_iter().map(elsewhere)).collect();
    [of_a, of_b]
}

/// A case whatever way its file is cached in.
fn cached_anyhow(case: &Case) -> Case {
    let mut case = case.clone();
    case.io_mut().into_iter().for_each(|io| io.populated = Populated::Unknown);
    case
}

/// Whether each case of one side has the number of its partner on the other one.
pub(crate) fn are_numbered_alike(a: &[Planned], b: &[Planned]) -> bool {
    let are_partners = |(a, b): (&Planned, &Planned)| {
        let roles = [a.role, b.role];
        let are_twins = roles.map(|role| role == Role::Twin);
        let are_alike = roles.contains(&Role::Elsewhere) || are_twins[0] == are_twins[1];
        are_alike && cached_anyhow(&a.case) == cached_anyhow(&b.case)
    };
    a.len() == b.len() && a.iter().zip(b).all(are_partners)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::case::{Io, ReadWork, Work};
    use model::zoo;

    #[test]
    fn a_case_has_the_same_number_on_both_sides_whatever_only_one_of_them_can_do() {
        let read = |block, populated| {
            let io = Io { block, populated, ..zoo::plain().io };
            Planned {
                case: Case::own(Work::Read(ReadWork { io, ..zoo::plain() })),
                role: Role::Asked,
            }
        };
        let of = |all: &[(u64, Populated)]| -> Vec<Planned> {
            all.iter().map(|(block, populated)| read(*block, *populated)).collect()
        };
        let (ahead, written) = (Populated::ReadAhead, Populated::Written);
        let check = |a: &[Planned], b: &[Planned], is_any_in_memory, expected: [&[&str]; 2]| {
            let numbered = numbered([a, b], is_any_in_memory);
            let said = numbered.map(|cases| -> Vec<String> {
                let said = |it: &Planned| {
                    let io = it.case.io().unwrap();
                    let here = if it.role == Role::Elsewhere { "elsewhere" } else { "" };
                    format!("{} {} {here}", io.block, io.populated)
                };
                cases.iter().map(|it| said(it).trim_end().to_string()).collect()
            });
            assert_eq!(said.each_ref().map(Vec::as_slice), expected);
        };
        let both = of(&[(1, ahead), (2, ahead), (2, written)]);
        let all = &["1 readahead", "2 readahead", "2 written"][..];
        check(&both, &both, false, [all, all]);
        check(&both, &both, true, [all, all]);
        let (a, b) = (of(&[(1, ahead), (2, ahead)]), of(&[(3, ahead), (1, ahead)]));
        let of_a = &["1 readahead", "2 readahead", "3 readahead elsewhere"][..];
        let of_b = &["1 readahead", "2 readahead elsewhere", "3 readahead"][..];
        check(&a, &b, false, [of_a, of_b]);
        // In memory, it can be there in one way only.
        let (a, b) = (of(&[(1, written), (2, written)]), of(&[(1, ahead), (2, ahead)]));
        let of_a = &["1 written", "2 written"][..];
        check(&a, &b, true, [of_a, &["1 readahead", "2 readahead"]]);
        let alone = ["1 readahead", "2 readahead"].map(|it| format!("{it} elsewhere"));
        let of_a = [of_a, &alone.each_ref().map(String::as_str)].concat();
        let of_b = ["1 written elsewhere", "2 written elsewhere", "1 readahead", "2 readahead"];
        check(&a, &b, false, [&of_a, &of_b]);
        // A twin is no partner of a case that was asked for.
        let twins = [read(1, ahead), Planned { role: Role::Twin, ..read(1, ahead) }];
        let apart = ["1 readahead", "1 readahead elsewhere"];
        check(&twins[..1], &twins[1..], false, [&apart, &["1 readahead elsewhere", "1 readahead"]]);
        check(&twins, &twins, false, [&["1 readahead"; 2], &["1 readahead"; 2]]);
    }

    #[test]
    fn sides_whose_cases_are_in_another_order_are_not_numbered_alike() {
        let [a, b] = [1, 2].map(|block| {
            let io = Io { block, ..zoo::plain().io };
            let case = Case::own(Work::Read(ReadWork { io, ..zoo::plain() }));
            Planned { case, role: Role::Asked }
        });
        let with = |it: &Planned, role| Planned { role, ..it.clone() };
        let both = [a.clone(), b.clone()];
        assert!(are_numbered_alike(&both, &both));
        assert!(are_numbered_alike(&both, &[a.clone(), with(&b, Role::Elsewhere)]));
        assert!(!are_numbered_alike(&both, &[b.clone(), a.clone()]));
        assert!(!are_numbered_alike(&both, &both[..1]));
        let twins = [a.clone(), with(&a, Role::Twin)];
        assert!(are_numbered_alike(&twins, &twins));
        assert!(!are_numbered_alike(&twins, &[twins[1].clone(), a.clone()]));
        assert!(are_numbered_alike(&twins, &[a.clone(), with(&a, Role::Elsewhere)]));
        let mut cached = a.clone();
        cached.case.io_mut().unwrap().populated = Populated::Written;
        assert!(are_numbered_alike(&[a], &[cached]));
    }
}
