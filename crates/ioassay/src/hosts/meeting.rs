//! Which host opens which files of others, once all have created their own.

use anyhow::{Result, bail};
use model::agent::{Answer, Order, Unproved, shown};
use model::host::Fixture;
use model::part::Part;
use model::shape::Calibrated;
use std::time::Duration;

/// How long hosts may take to write their files.
pub const MAKING: Duration = Duration::from_secs(1200);

/// The files that an agent created or opened, and its folder, if others may find one there.
#[derive(Debug, Clone, PartialEq)]
pub struct Made {
    /// The files.
    pub fixtures: Vec<Fixture>,
    /// The folder.
    pub folder: Option<String>,
    /// The shapes of loops that it uses.
    pub calibrated: Vec<Calibrated>,
    /// Folders of other runs that stay there.
    pub unproved: Vec<Unproved>,
}

impl Made {
    /// What an agent answered.
    ///
    /// # Errors
    /// If it sent something else.
    pub fn of(answer: Answer) -> Result<Made> {
        match answer {
            Answer::Made { fixtures, folder, calibrated, unproved } => {
                Ok(Made { fixtures, folder, calibrated, unproved })
            }
            other => bail!("an agent sent '{}' instead of its files", shown(&other)),
        }
    }
}

/// The orders by which hosts open each other's files: each reads those of the next one that is
/// there. `there` has the numbers of these hosts, ascending, with their folders.
pub fn orders(there: &[(usize, Option<String>)]) -> Vec<(usize, Order)> {
    let creator = there.iter().find(|(number, _)| *number == 0);
    let shared = creator.and_then(|(_, folder)| folder.clone());
    let of = there.len() as u32;
    let order = |(place, (number, _)): (usize, &(usize, Option<String>))| {
        let (next, folder) = &there[(place + 1) % there.len()];
        let segment = Part { number: place as u32, of };
        let (folder, shared) = (folder.clone(), shared.clone());
        (*number, Order::Meet { next: *next as u32, folder, shared, segment })
    };
    there.iter().enumerate().map(order).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_host_meets_the_next_one_that_is_there() {
        let there = [0, 1, 3].map(|number| (number, Some(format!("ioassay-run-{number}"))));
        let met = |there: &[(usize, Option<String>)]| -> Vec<(usize, u32, bool, Part)> {
            let told = orders(there).into_iter().map(|(number, order)| match order {
                Order::Meet { next, folder, shared, segment } => {
                    assert_eq!(folder, Some(format!("ioassay-run-{next}")));
                    (number, next, shared == Some("ioassay-run-0".to_owned()), segment)
                }
                other => panic!("{other:?}"),
            });
            told.collect()
        };
        let part = |number, of| Part { number, of };
        let expected =
            [(0, 1, true, part(0, 3)), (1, 3, true, part(1, 3)), (3, 0, true, part(2, 3))];
        assert_eq!(met(&there), expected);
        // Without the host that created them, no files are shared.
        assert_eq!(met(&there[1..]), [(1, 3, false, part(0, 2)), (3, 1, false, part(1, 2))]);
        assert_eq!(orders(&[]), []);
    }
}
