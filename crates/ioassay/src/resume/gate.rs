//! A gate that was interrupted and goes on: with the records of both of its sides.

use super::Interrupted;
use crate::agenda::Agenda;
use crate::store::{self, Store};
use anyhow::{Context, Result, bail};
use model::record::{End, Header, Record, RecordLine, Side};
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
        let open = |path: &Path| {
            let (store, record) = Store::reopen(path)?;
            Ok::<_, anyhow::Error>(Interrupted { store, record })
        };
        let mut gate = InterruptedGate([open(&a)?, open(&b)?]);
        gate.check_left()?;
        Ok(gate)
    }

    /// Refuses to go on if nothing is left to measure, or if the two do not number their cases
    /// alike, as those of older versions.
    fn check_left(&mut self) -> Result<()> {
        let InterruptedGate(sides) = self;
        let shown = sides.each_ref().map(|side| side.store.path().display().to_string());
        let [a, b] = &shown;
        let cases = sides.each_ref().map(|side| side.record.header.plan.cases.len());
        if cases[0] != cases[1] {
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
        let Some(name) = name_of(&header) else {
            bail!(
                "'{shown}' is no record of a gate: 'ioassay run --resume' goes on with a run, and \
                 'ioassay gate --against RECORD --resume' with one that is held against a record"
            );
        };
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        (folder.unwrap_or(Path::new(".")), Some(name))
    };
    let mut gates = gates_in(folder)?;
    gates.retain(|name, _| one.as_ref().is_none_or(|one| one == name));
    let several = gates.len();
    let (Some((_, sides)), true) = (gates.pop_first(), several < 2) else {
        match several {
            0 => bail!("the folder '{shown}' has no records of a gate"),
            _ => bail!("the folder '{shown}' has the records of {several} gates: name one record"),
        }
    };
    let mut found = Vec::new();
    for (records, side) in sides.into_iter().zip(Side::ALL) {
        match <[PathBuf; 1]>::try_from(records) {
            Ok([record]) => found.push(record),
            Err(records) => bail!(
                "the folder '{}' has {} records of side {} of this gate, which needs one of each \
                 side to go on",
                folder.display(),
                records.len(),
                side.name().to_uppercase()
            ),
        }
    }
    Ok(<[PathBuf; 2]>::try_from(found).unwrap_or_else(|_| unreachable!("each side has one")))
}

/// The gates in a folder, by name.
fn gates_in(folder: &Path) -> Result<BTreeMap<String, RecordsOfSides>> {
    let paths = store::records_of(folder)
        .with_context(|| format!("failed to read the folder '{}'", folder.display()))?;
    let mut gates: BTreeMap<String, RecordsOfSides> = BTreeMap::new();
    for path in paths {
        // What is no record is none of a gate.
        let Ok(header) = store::header(&path) else { continue };
        let Some((name, side)) = name_of(&header).zip(header.side) else { continue };
        gates.entry(name).or_default()[usize::from(side == Side::B)].push(path);
    }
    Ok(gates)
}

/// What both records of a gate call it.
fn name_of(header: &Header) -> Option<String> {
    header.alternates.clone()
}
