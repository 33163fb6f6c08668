//! What those who take part in a run in lockstep are called: hosts, or directories or block devices
//! of one machine.

use crate::phrases::Phrase;
use assess::together::Together;
use model::case::Case;
use model::rank::{Members, Rank};
use model::taking_part::TakingPart;

/// The axis that says which of them measure a case.
pub(crate) const AXIS: &str = "hosts";

/// What took part in a run.
pub(crate) fn members(run: &Together) -> Members {
    Members::of(run.rank)
}

/// Whether they are directories or block devices of one machine.
pub(crate) fn are_on_one_machine(rank: Option<Rank>) -> bool {
    Members::of(rank) != Members::Hosts
}

/// The names of those who take part, if they are known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct MemberNames<'a> {
    /// What the user calls them, in their order.
    pub(crate) called: &'a [String],
    /// The place of one of them in the run.
    pub(crate) rank: Option<Rank>,
}

impl MemberNames<'_> {
    /// Makes the words of a case say who measures it: `/mnt/a alone`, `all at once`.
    pub(crate) fn say(self, case: &Case, phrases: &mut [Phrase]) {
        let Some(said) = self.who(case.hosts()) else { return };
        for phrase in phrases.iter_mut().filter(|phrase| phrase.axis == AXIS) {
            (phrase.said, phrase.short) = (said.clone(), said.clone());
        }
    }

    fn who(self, taking_part: TakingPart) -> Option<String> {
        match taking_part {
            TakingPart::Only(number) => {
                Some(format!("{} alone", self.called.get(number as usize)?))
            }
            TakingPart::All if are_on_one_machine(self.rank) => Some("all at once".to_string()),
            TakingPart::All | TakingPart::First(_) => None,
        }
    }
}
