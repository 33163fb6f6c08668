//! Variants of a recipe that take less time and space.

use super::Recipe;
use crate::group::ValueList;
use anyhow::Result;
use model::plan::ROUNDS_MIN;
use model::units;
use std::time::Duration;

/// The least time of a quick run's trials: shorter ones show the start more than the steady state.
const QUICK_LEAST: Duration = Duration::from_millis(100);

impl Recipe {
    /// A faster variant of the recipe: one invocation, the fewest rounds with an interval, a fifth
    /// of the time of each trial, and files of half the size.
    pub fn quick(mut self) -> Result<Recipe> {
        (self.rounds, self.invocations) = (Some(ROUNDS_MIN), Some(1));
        let shorter = |text: &str| {
            let whole = units::parse_time(text)?;
            Ok(units::time((whole / 5).max(QUICK_LEAST).min(whole)))
        };
        self.time = shorter(&self.time)?;
        self.change("time", shorter)?;
        self.smaller()
    }

    /// The recipe with files of half the size.
    pub fn smaller(mut self) -> Result<Recipe> {
        let halved = |text: &str| Ok(units::bytes(units::parse_bytes(text)? / 2));
        self.size = halved(&self.size)?;
        self.change("size", halved)?;
        Ok(self)
    }

    /// Changes the values of an axis in all groups.
    fn change(&mut self, axis: &str, new: impl Fn(&str) -> Result<String>) -> Result<()> {
        let groups = self.cases.iter_mut().chain(&mut self.aside).chain(self.actors.values_mut());
        for values in groups.chain([&mut self.axes]).filter_map(|group| group.get_mut(axis)) {
            let texts = values.texts().iter().map(|text| new(text)).collect::<Result<_>>()?;
            *values = ValueList::from_texts(texts);
        }
        Ok(())
    }
}
