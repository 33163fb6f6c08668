//! What hosts see of their paths and of their machines before the first trial of an invocation and
//! right after its last.

use super::late::ExpectedWork;
use super::turn::PREPARING;
use anyhow::{Result, bail};
use model::agent::{Answer, shown};
use model::vitals::{PartVitals, Vitals};
use std::collections::BTreeMap;
use std::time::Duration;

/// A look. A drive that hangs keeps it waiting.
pub(super) const LOOK: ExpectedWork =
    ExpectedWork { what: "look at its path", time: Duration::ZERO, patience: PREPARING };

/// What each host saw before the first trial of a part of the run, by its number.
#[derive(Debug, Default)]
pub(super) struct Looks {
    pub(super) invocation: u32,
    pub(super) before: BTreeMap<usize, Vitals>,
}

impl Looks {
    /// The same with what each saw `after` the last trial. A host that was lost meanwhile did not.
    pub(super) fn until(self, after: BTreeMap<usize, Vitals>) -> Vec<(usize, PartVitals)> {
        let Looks { invocation, mut before } = self;
        let both = |(index, after)| Some((index, before.remove(&index)?, after));
        let both = after.into_iter().filter_map(both);
        both.map(|(index, before, after)| (index, PartVitals { invocation, before, after }))
            .collect()
    }
}

/// What a host answered that looked at `at_ms`.
///
/// # Errors
/// If it sent something else.
pub(super) fn seen(answer: Answer, at_ms: u64) -> Result<Vitals> {
    match answer {
        Answer::Vitals(vitals) => Ok(Vitals { at_ms, ..*vitals }),
        other => bail!("an agent sent '{}' instead of what it sees", shown(&other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_that_was_lost_between_the_looks_has_none() {
        let look = |at_ms| seen(Answer::Vitals(Box::default()), at_ms).expect("it is a look");
        let at = |at_ms, hosts: &[usize]| hosts.iter().map(|host| (*host, look(at_ms))).collect();
        let looks = Looks { invocation: 2, before: at(5, &[0, 1, 2]) };
        let told = looks.until(at(9, &[0, 2]));
        let part = PartVitals { invocation: 2, before: look(5), after: look(9) };
        assert_eq!(told, [(0, part.clone()), (2, part)]);
        assert_eq!(Looks::default().until(at(9, &[0])), []);
        let error = seen(Answer::Done, 1).unwrap_err().to_string();
        assert!(error.contains("instead of what it sees"), "{error}");
    }
}
