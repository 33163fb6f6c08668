//! What a rule sees, and what it returns.

use crate::counted::{Counted, counts_calls};
use crate::finding::{Code, Finding, Severity};
use crate::measured::Measured;
use crate::ratio::Ratio;
use crate::served::SHARE_NOISE;
use crate::summary::{ServedBy, Summary};
use model::case::{Cache, ReadWork, WriteWork};
use model::host::{HeldContent, Medium, Storage};
use model::list::listed;
use model::units::{NS_PER_SECOND, nanoseconds, percent, rate, scaled};

/// A case before its rules apply: at least one trial, and their summary.
#[derive(Debug)]
pub(crate) struct Context<'a> {
    pub(crate) measured: &'a Measured<'a>,
    pub(crate) summary: &'a Summary,
    /// The tool's own cost, if measured.
    pub(crate) overhead: Option<Overhead>,
}

/// What the null engine takes for an operation, compared with a case that moves bytes.
#[derive(Debug)]
pub(crate) struct Overhead {
    /// Nanoseconds: the median of its rounds.
    pub(crate) ns: f64,
    /// As a share of the case's operation, by the rounds that measured both.
    pub(crate) share: Ratio,
}

/// Findings on a case, each with the function that looks for it.
pub(super) type RuleTable = &'static [(Code, fn(&Context) -> Option<Draft>)];

/// A finding without its code, which the table of rules adds.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) severity: Severity,
    pub(crate) size: Option<f64>,
    pub(crate) message: String,
    pub(crate) remedy: String,
}

impl Draft {
    /// A fault without a figure that tells which of several rows is the worst: what the file system
    /// or the machine is, what a counter does not show, what a case asks for.
    pub(crate) fn new(severity: Severity, message: String, remedy: &str) -> Option<Draft> {
        Some(Draft { severity, size: None, message, remedy: remedy.to_string() })
    }

    /// A fault with a figure that its message states: see [`Finding::size`].
    pub(crate) fn sized(
        size: impl Into<Option<f64>>,
        severity: Severity,
        message: String,
        remedy: &str,
    ) -> Option<Draft> {
        Some(Draft { severity, size: size.into(), message, remedy: remedy.to_string() })
    }

    /// With its code.
    pub(crate) fn named(self, code: Code) -> Finding {
        let Draft { severity, size, message, remedy } = self;
        Finding { code, severity, size, message, remedy }
    }
}

/// A file system in memory, in words, with the device that it is on: `ext4 on zram1`.
pub(super) fn in_memory(storage: Option<&Storage>) -> String {
    let Some(storage) = storage else { return "it".to_string() };
    let devices: Vec<&str> = storage.devices.iter().map(|it| it.name.as_str()).collect();
    let devices = listed(&devices);
    match (storage.is_raw(), devices.is_empty()) {
        (true, _) => devices,
        (false, true) => storage.file_system.clone(),
        (false, false) => format!("{} on {devices}", storage.file_system),
    }
}

/// Where a power cut takes what a sync makes durable: what is in memory, and what it loses.
pub(super) fn lost(storage: Option<&Storage>) -> String {
    let Some(storage) = storage.filter(|storage| storage.loses_parts()) else {
        let on = in_memory(storage);
        let what = if storage.is_some_and(Storage::is_raw) { "its blocks" } else { "its files" };
        return format!("{on} keeps {what} in memory: nothing survives a power cut");
    };
    let of_data = || storage.lost_parts().filter(|part| part.holds == HeldContent::Data);
    let kind = &storage.file_system;
    match of_data().next() {
        Some(_) => format!(
            "a part of {kind} is in memory ({}), with no copy on a disk: a power cut takes what is \
             there",
            storage.in_words(of_data())
        ),
        None => format!(
            "the journal of {kind} is in memory ({}): a power cut takes what was committed there",
            storage.in_words(storage.lost_parts())
        ),
    }
}

/// Whether a sync reached a medium, where nothing shows it.
pub(super) fn unseen_sync(storage: Option<&Storage>, what: &str) -> (String, &'static str) {
    match storage.filter(|storage| storage.medium == Medium::Block) {
        Some(storage) => (
            format!(
                "the journal of {} is on a device of its own that this machine does not name: \
                 nothing shows whether {what} reached a medium",
                storage.file_system
            ),
            "put the journal on the device of the file system, or have only one external journal \
             mounted",
        ),
        None => {
            let on = storage.map_or("the file system", Storage::noun);
            let seen = format!(
                "this machine cannot see below {on}: no counter shows whether {what} reached a \
                 medium"
            );
            (seen, to_see_below(storage))
        }
    }
}

/// What lets a flush through that is prevented.
pub(super) fn to_flush(storage: &Storage) -> &'static str {
    match storage.is_flush_stopped() {
        true => {
            "write 'write back' to the device's queue/write_cache; until then use only the \
                 acknowledged rate"
        }
        false => "mount it with barriers; until then use only the acknowledged rate",
    }
}

/// What shows more than this machine sees of the file system.
pub(super) fn to_see_below(storage: Option<&Storage>) -> &'static str {
    if storage.is_some_and(|storage| storage.lacks_sys) {
        "mount /sys, read-only if you like, through which the OS shows its devices"
    } else {
        "measure on the machine with the disk"
    }
}

/// `Note` above the first limit, `Doubt` above the second, nothing below.
pub(super) fn graded(value: f64, [note, doubt]: [f64; 2]) -> Option<Severity> {
    match value {
        value if value > doubt => Some(Severity::Doubt),
        value if value > note => Some(Severity::Note),
        _ => None,
    }
}

/// Whether "N times" reads better than a percentage.
pub(super) fn is_many_times(share: f64) -> bool {
    share >= 3.0
}

/// So much of the bytes of a case, or so many times as much: `12.5 % of`, `22 times`.
pub(super) fn much_of(share: f64) -> String {
    match is_many_times(share) {
        true => format!("{share:.0} times"),
        false => format!("{} of", percent(share)),
    }
}

impl Context<'_> {
    /// The work that reads a file; none for the null engine, which reads none.
    pub(crate) fn read(&self) -> Option<&ReadWork> {
        self.measured.read()
    }

    /// The work that writes a file; none for the null engine, which writes none.
    pub(crate) fn write(&self) -> Option<&WriteWork> {
        self.measured.write()
    }

    /// Whether the case moves bytes: the null engine moves none.
    pub(crate) fn moves(&self) -> bool {
        let in_memory = self.measured.case.memory().is_some();
        let on_names = self.measured.case.metadata().is_some();
        let is_command = self.measured.case.command().is_some();
        in_memory || on_names || is_command || self.read().is_some() || self.write().is_some()
    }

    /// The work that reads a file, if the case claims this cache state.
    pub(crate) fn claims(&self, cache: Cache) -> Option<&ReadWork> {
        self.read().filter(|work| work.io.cache == cache)
    }

    pub(crate) fn is_served(&self, by: &[ServedBy]) -> bool {
        self.summary.served_by.is_some_and(|served_by| by.contains(&served_by))
    }

    /// Whether bytes crossed the block layer below the file system. Below a loop device, the page
    /// cache outside may have served or taken them.
    pub(crate) fn crosses_devices(&self) -> bool {
        let on_loop = || self.measured.storage.is_some_and(|it| it.cached_loop().is_some());
        self.is_served(&[ServedBy::Device, ServedBy::Mixed])
            || (self.is_served(&[ServedBy::PageCache]) && on_loop() && self.reaches_loop())
    }

    /// Whether a loop device moved more than noise of the bytes.
    fn reaches_loop(&self) -> bool {
        let moved = self.total_share(|trial| {
            let evidence = &trial.evidence;
            let moved = if self.write().is_some() {
                evidence.disk_write_bytes.and(evidence.device_write_bytes)
            } else {
                evidence.disk_read_bytes.and(evidence.device_read_bytes)
            };
            let asked = match self.write() {
                Some(_) => trial.sample.written_bytes(),
                None => trial.sample.bytes(),
            };
            Some((moved?, asked))
        });
        moved.is_some_and(|share| share > SHARE_NOISE)
    }

    /// As [`Measured::total_share`].
    pub(crate) fn total_share(
        &self,
        part_and_whole: impl Fn(&Counted) -> Option<(u64, u64)>,
    ) -> Option<f64> {
        self.measured.total_share(part_and_whole)
    }

    /// A rate in words: bytes per second, IOPS if the case only syncs, or the time of a run of a
    /// command.
    pub(crate) fn rate(&self, value: f64) -> String {
        if self.measured.case.command().is_some() {
            nanoseconds(NS_PER_SECOND / value)
        } else if counts_calls(self.measured.case) {
            format!("{}IOPS", scaled(value))
        } else {
            rate(value)
        }
    }

    /// The share of the trials that are `seen`.
    pub(crate) fn share_of_trials(&self, seen: impl Fn(&Counted) -> bool) -> f64 {
        let count = self.measured.trials.iter().filter(|trial| seen(trial)).count();
        count as f64 / self.measured.n() as f64
    }

    /// `3 of 10 trials`: the number of trials that are `seen`.
    pub(crate) fn how_many(&self, seen: impl Fn(&Counted) -> bool) -> String {
        let count = self.measured.trials.iter().filter(|trial| seen(trial)).count();
        match (count, self.measured.n()) {
            (1, 1) => "the only trial that counts".to_string(),
            (count, all) => format!("{count} of {all} trials"),
        }
    }
}
