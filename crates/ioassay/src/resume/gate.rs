//! A gate that was interrupted and goes on: with the records of both of its sides.

use super::Interrupted;
use crate::agenda::Agenda;
use crate::numbering::are_numbered_alike;
use crate::store;
use anyhow::{Context, Result, anyhow, bail};
use model::record::{End, Record, RecordLine, Side};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The records of the two sides, the reference first, open and locked.
#[derive(Debug)]
pub struct InterruptedGate(pub [Interrupted; 2]);

/// The records of each side that one folder has of a gate.
type RecordsOfSides = [Vec<PathBuf>; 2];

impl InterruptedGate {
    /// Opens the records of a gate, of which `place` is one, or the folder with both, and locks
    /// them. If all trials are there and only ends are missing, this adds them.
    ///
    /// # Errors
    /// If these are not the records of one gate, or nothing is left to measure.
    pub fn open(place: &Path) -> Result<InterruptedGate> {
        let [a, b] = records_at(place)?;
        let mut gate = InterruptedGate([Interrupted::reopen(&a)?, Interrupted::reopen(&b)?]);
        gate.check_left()?;
        Ok(gate)
    }

    /// Refuses to go on if nothing is left to measure, or if the two do not number their cases
    /// alike, as those of older versions.
    fn check_left(&mut self) -> Result<()> {
        let InterruptedGate(sides) = self;
        let shown = sides.each_ref().map(|side| side.store.path().display().to_string());
        let [a, b] = &shown;
        let cases = sides.each_ref().map(|side| &side.record.header.plan.cases);
        if !are_numbered_alike(cases[0], cases[1]) {
            bail!(
                "'{a}' and '{b}' number their cases in different ways, so they cannot go on: begin \
                 a new gate"
            );
        }
        let judge = format!("'ioassay compare {a} {b} --fail-if LIMIT' judges it");
        let is_over = |side: &Interrupted| side.record.end == End::Complete;
        if sides.iter().all(is_over) {
            bail!("nothing is left to measure: the gate is complete; {judge}");
        }
        let records: [&Record; 2] = sides.each_ref().map(|side| &side.record);
        let is_limited = records[0].header.plan.budget.is_some();
        let is_whole = !is_limited && Agenda::of_records(&records).is_whole();
        // Both get their ends once the gate is over.
        let is_ended = sides.iter().any(is_over);
        if is_ended && !is_limited && !is_whole {
            bail!("one of '{a}' and '{b}' is complete and the other is not: begin a new gate");
        }
        if is_ended || is_whole {
            for side in sides.iter_mut().filter(|side| !is_over(side)) {
                side.store.append(&RecordLine::End(End::Complete))?;
            }
            bail!("nothing is left to measure: the gate lacked only its end; {judge}");
        }
        Ok(())
    }
}

/// The records of the gate that `place` names, the reference first.
fn records_at(place: &Path) -> Result<[PathBuf; 2]> {
    let shown = place.display();
    let (folder, one) = if place.is_dir() {
        (place, None)
    } else {
        let header = store::header(place)?;
        let Some(name) = header.alternates else {
            bail!(
                "'{shown}' is no record of a gate: 'ioassay run --resume' goes on with a run, and \
                 'ioassay gate --against RECORD --resume' with one that is held against a record"
            );
        };
        let Some(side) = header.side else {
            bail!("'{shown}' does not say which side of its gate it is: begin a new gate");
        };
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        (folder.unwrap_or(Path::new(".")), Some((name, side)))
    };
    let mut gates = gates_in(folder)?;
    if let Some((name, side)) = one {
        // The one that is named is the record of its side, whatever its name is.
        let mut records = gates.remove(&name).unwrap_or_default();
        records[usize::from(side == Side::B)] = vec![place.to_path_buf()];
        gates = BTreeMap::from([(name, records)]);
    }
    let several = gates.len();
    let Some((_, [a, b])) = gates.pop_first().filter(|_| several == 1) else {
        match several {
            0 => bail!("the folder '{shown}' has no records of a gate"),
            _ => bail!("the folder '{shown}' has the records of {several} gates: name one record"),
        }
    };
    let only = |records: Vec<PathBuf>, side: Side| {
        let found = records.len();
        <[PathBuf; 1]>::try_from(records).map(|[record]| record).map_err(|_| {
            anyhow!(
                "the folder '{}' has {found} records of side {} of this gate that end in .jsonl, \
                 and the gate needs one of each side to go on",
                folder.display(),
                side.name().to_uppercase()
            )
        })
    };
    Ok([only(a, Side::A)?, only(b, Side::B)?])
}

/// The gates in a folder, by name.
fn gates_in(folder: &Path) -> Result<BTreeMap<String, RecordsOfSides>> {
    let paths = store::records_of(folder)
        .with_context(|| format!("failed to read the folder '{}'", folder.display()))?;
    let mut gates: BTreeMap<String, RecordsOfSides> = BTreeMap::new();
    for path in paths {
        // What is no record is none of a gate.
        let Ok(header) = store::header(&path) else { continue };
        let Some((name, side)) = header.alternates.zip(header.side) else { continue };
        gates.entry(name).or_default()[usize::from(side == Side::B)].push(path);
    }
    Ok(gates)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Store;
    use model::zoo;

    /// The two records of an interrupted gate, in a folder.
    fn records(plant: impl FnOnce(&mut [Record; 2])) -> (tempfile::TempDir, [PathBuf; 2]) {
        let mut records = [Side::A, Side::B].map(|side| {
            let mut record = zoo::record();
            record.header.plan.rounds = 30;
            (record.header.alternates, record.header.side) = (Some("x".to_string()), Some(side));
            record
        });
        plant(&mut records);
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a.jsonl", "b.jsonl"].map(|name| folder.path().join(name));
        for (path, record) in paths.iter().zip(records) {
            let mut store = Store::create(path, record.header).unwrap();
            store.append(&RecordLine::Trial(record.trials[0].clone())).unwrap();
        }
        (folder, paths)
    }

    #[test]
    fn a_record_that_was_renamed_is_found_if_it_is_named() {
        let (folder, [a, b]) = records(|_| ());
        let open = |place: &Path| InterruptedGate::open(place).map(drop);
        open(folder.path()).unwrap();
        open(&b).unwrap();
        let renamed = folder.path().join("b.old");
        std::fs::rename(&b, &renamed).unwrap();
        open(&renamed).unwrap();
        for place in [folder.path(), &a] {
            let error = open(place).unwrap_err().to_string();
            assert!(error.contains("has 0 records of side B of this gate that end in"), "{error}");
        }
        std::fs::rename(&a, folder.path().join("a.old")).unwrap();
        let error = open(&renamed).unwrap_err().to_string();
        assert!(error.contains("has 0 records of side A of this gate that end in"), "{error}");
    }

    #[test]
    fn sides_that_number_their_cases_in_different_ways_do_not_go_on() {
        let check = |order: [usize; 2], expected: Option<&str>| {
            let (folder, _) = records(|both| {
                for (record, first) in both.iter_mut().zip(order) {
                    let mut other = record.header.plan.cases[0].clone();
                    other.case.io_mut().unwrap().block *= 2;
                    record.header.plan.cases.insert(first, other);
                }
            });
            let error = InterruptedGate::open(folder.path()).err().map(|it| it.to_string());
            let is_expected = |error: &str| expected.is_some_and(|it| error.contains(it));
            assert!(error.as_deref().map_or(expected.is_none(), is_expected), "{error:?}");
        };
        check([0, 0], None);
        check([0, 1], Some("number their cases in different ways"));
    }
}
