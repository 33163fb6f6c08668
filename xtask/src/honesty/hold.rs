//! How often `--hold` finds the load that a device with a known limit holds.

use super::small;
use crate::at_once::at_once;
use crate::document::{commands, paragraph, table};
use crate::fixture::{Mounted, PLAIN, Setup};
use crate::limit::{Group, PlantedLimit};
use crate::stage::{Circumstances, Experiment};
use crate::unable::Unable;
use anyhow::{Context, Result};
use serde_json::Value;
use tempfile::TempDir;

/// Reads per second that the device allows.
const LIMITS: [u64; 2] = [500, 5000];

/// What a search may be off by. Its bounds are this close. A trial is kept up with if 1 % of its
/// operations are left and as many as the depth are in flight; and the control group lets a burst
/// of about 0.1 s through before it limits, which is why trials last 4 s.
const APART: f64 = 1.05;

const IMAGE_BYTES: u64 = 256 << 20;

const RUN: &str = "\
ioassay run load DIR --size 64MiB --depth 8 --time 4s --arrival even --rate 50%,150% \
--hold p90<50ms --rounds 5 --invocations 1 --no-ceilings --json --quiet";

/// The bounds that a run found, in operations per second; unknown if it did not.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Found {
    holds: Option<f64>,
    fails: Option<f64>,
}

impl Found {
    fn of(report: &Value) -> Result<Found> {
        let held = report.pointer("/loads/0/held").filter(|held| held.is_object());
        let held = held.context("the report does not say which load is held")?;
        Ok(Found { holds: held["holds"].as_f64(), fails: held["fails"].as_f64() })
    }

    /// Whether the limit is between the bounds, or less than 5 % below the lower one.
    fn is_around(self, limit: u64) -> bool {
        let limit = limit as f64;
        self.holds.is_some_and(|holds| holds <= APART * limit)
            && self.fails.is_some_and(|fails| fails >= limit)
    }
}

/// The section, from `n` runs for each limit. The devices are apart, so the limits take turns with
/// each other's waiting: both run at once.
///
/// # Errors
/// If a device cannot be limited here, or a run fails.
pub(super) fn section(
    stage: &Experiment,
    circumstances: &Circumstances,
    n: usize,
) -> Result<String> {
    // The lower limit takes twice as long to find.
    let limits = stage.extent.pick(&LIMITS[..], &LIMITS[1..]);
    let all = at_once(limits, limits.len(), |limit| Ok((*limit, runs(stage, *limit, n)?)));
    let all = all.into_iter().collect::<Result<Vec<(u64, Vec<Found>)>>>()?;
    Ok(text(circumstances, &all))
}

fn runs(stage: &Experiment, limit: u64, n: usize) -> Result<Vec<Found>> {
    let folder = TempDir::new_in(stage.folder())?;
    let setup = Setup { size: IMAGE_BYTES, ..PLAIN };
    let mounted = Mounted::on_loop(folder, "ext4", &setup).map_err(Unable::error)?;
    let group = Group::new(&[PlantedLimit::ReadOps(limit)], Some(mounted.loop_name()))?;
    let line = stage.extent.pick(RUN.to_owned(), small::command(RUN));
    let words = stage.split(&line, &stage.words().and("DIR", &mounted.point));
    let words = [group.enter(), words].concat();
    let mut all = Vec::new();
    for run in 1..=n {
        let found = Found::of(&serde_json::from_str(&stage.read(&words)?)?)?;
        println!("{limit}/s, run {run} of {n}: {found:?}");
        all.push(found);
    }
    Ok(all)
}

fn text(circumstances: &Circumstances, all: &[(u64, Vec<Found>)]) -> String {
    let rows = all.iter().map(|(limit, found)| {
        let right = found.iter().filter(|it| it.is_around(*limit)).count();
        let holds = range(found.iter().map(|it| it.holds));
        let fails = range(found.iter().map(|it| it.fails));
        format!("| {limit}/s | {} | {right} | {holds} | {fails} |", found.len())
    });
    circumstances.text()
        + &paragraph(
            "A control group limits the reads per second of a loop device, so the load that it \
             holds is known. `--hold` has to find it. A run is right if the limit lies between \
             its bounds, or less than 5 % below the lower one, which is how close the bounds are \
             meant to be. Both devices are measured at once.",
        )
        + &table("| limit | runs | right | holds, from and to | fails, from and to |", rows)
        + "\n"
        + &commands(&[RUN.replace("p90<50ms", "'p90<50ms'")])
}

/// The least and the largest of the known values, and how many are unknown.
fn range(values: impl Iterator<Item = Option<f64>>) -> String {
    let (known, unknown): (Vec<_>, Vec<_>) = values.partition(Option::is_some);
    let known = || known.iter().flatten().copied();
    let (low, high) = (known().fold(f64::MAX, f64::min), known().fold(0.0, f64::max));
    match (known().count(), unknown.len()) {
        (0, _) => "unknown".to_owned(),
        (_, 0) => format!("{low}–{high}/s"),
        (_, unknown) => format!("{low}–{high}/s, {unknown} unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_run_is_right_if_the_limit_is_between_its_bounds() {
        let of = |held: Value| Found::of(&json!({ "loads": [{ "held": held }] }));
        let found = |holds: u32, fails: u32| {
            of(json!({ "holds": holds, "fails": fails })).expect("it has bounds")
        };
        for (holds, fails, expected) in
            [(490, 510, true), (524, 550, true), (526, 550, false), (470, 499, false)]
        {
            assert_eq!(found(holds, fails).is_around(500), expected, "{holds} {fails}");
        }
        let none = of(json!({ "holds": null, "fails": 510 })).expect("it has bounds");
        assert!(of(Value::Null).is_err() && Found::of(&json!({})).is_err());
        assert!(!none.is_around(500));
        let values = [none, found(490, 520)].map(|it| it.holds).into_iter();
        assert_eq!(range(values), "490–490/s, 1 unknown");
        assert_eq!(range([None].into_iter()), "unknown");
    }
}
