//! How often a host is called odd, among hosts that are alike and among hosts that are not.

use super::noise::{normal, student_of_three};
use super::rounds::share;
use super::table::MarkdownTable;
use assess::invocations::Round;
use assess::odd::{CaseLevels, HostLevel, odd};
use model::random::Rng;

/// The cases that each host measures.
const CASES: usize = 12;

/// How often they are measured, as in a survey.
const INVOCATIONS: u32 = 5;
const ROUNDS: u32 = 2;

/// The smallest effect of interest on a device.
const INTEREST: f64 = 0.05;

/// Numbers of hosts.
const HOSTS: [(&str, usize); 5] =
    [("4 hosts", 4), ("6 hosts", 6), ("8 hosts", 8), ("12 hosts", 12), ("24 hosts", 24)];

/// Hosts, of which the first are slower in the first case.
struct HostKind {
    /// The standard deviation from host to host, as a share.
    hosts: f64,
    /// That of a host's rounds.
    rounds: f64,
    /// Whether the hosts have heavy tails: t with three degrees of freedom.
    is_heavy: bool,
    /// How many hosts are slower.
    slow: usize,
    /// Their rate, as a share of the others'.
    rate: f64,
}

const ALIKE: HostKind = HostKind { hosts: 0.02, rounds: 0.05, is_heavy: false, slow: 0, rate: 1.0 };

const KINDS: [(&str, HostKind); 10] = [
    ("alike", ALIKE),
    ("alike, rounds vary by 20 %", HostKind { rounds: 0.2, ..ALIKE }),
    ("alike, hosts vary by 10 %", HostKind { hosts: 0.1, ..ALIKE }),
    ("alike, with heavy tails", HostKind { is_heavy: true, ..ALIKE }),
    ("one is slower by a tenth", HostKind { slow: 1, rate: 0.9, ..ALIKE }),
    ("by a fifth", HostKind { slow: 1, rate: 0.8, ..ALIKE }),
    ("by half", HostKind { slow: 1, rate: 0.5, ..ALIKE }),
    ("by nine tenths", HostKind { slow: 1, rate: 0.1, ..ALIKE }),
    ("two are slower by half", HostKind { slow: 2, rate: 0.5, ..ALIKE }),
    ("two by nine tenths", HostKind { slow: 2, rate: 0.1, ..ALIKE }),
];

/// The share of fleets in which a host is called odd: any if all are alike, otherwise exactly the
/// slow ones.
pub(super) fn odd_hosts(sessions: usize) -> MarkdownTable {
    MarkdownTable::grid("fleet", &HOSTS, &KINDS, |number, kind, hosts| {
        share(sessions, 500 + number + *hosts as u64, |rng| is_told(kind, *hosts, rng))
    })
}

fn is_told(kind: &HostKind, hosts: usize, rng: &mut Rng) -> bool {
    let case = |case: usize, rng: &mut Rng| CaseLevels {
        of: (0..hosts).map(|host| level(kind, case == 0 && host < kind.slow, rng)).collect(),
        interest: INTEREST,
    };
    let cases: Vec<CaseLevels> = (0..CASES).map(|number| case(number, rng)).collect();
    let found = odd(&cases);
    if kind.slow == 0 {
        return found.iter().any(|told| !told.odd.is_empty());
    }
    let mut named: Vec<usize> = found[0].odd.iter().map(|(host, _)| *host).collect();
    named.sort_unstable();
    named.into_iter().eq(0..kind.slow) && found[1..].iter().all(|told| told.odd.is_empty())
}

/// What a host measures of a case.
fn level(kind: &HostKind, is_slow: bool, rng: &mut Rng) -> Option<HostLevel> {
    let off = if is_slow { kind.rate.ln() } else { 0.0 };
    let host = if kind.is_heavy { student_of_three(rng) } else { normal(rng) };
    let level = off + kind.hosts * host;
    let mut rounds = Vec::with_capacity((INVOCATIONS * ROUNDS) as usize);
    for invocation in 0..INVOCATIONS {
        // Invocations vary half as much as rounds.
        let of_invocation = level + kind.rounds / 2.0 * normal(rng);
        for at in 0..ROUNDS {
            let value = of_invocation + kind.rounds * normal(rng);
            let round = invocation * ROUNDS + at;
            rounds.push(Round { invocation, round, is_further: false, value });
        }
    }
    HostLevel::of_logs(&rounds)
}
