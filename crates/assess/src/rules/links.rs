//! Figures above what the links on the path to the device carry.

use super::context::{Context, Draft, RuleTable};
use crate::finding::{Code, Severity};
use crate::link_use::LinkUse;
use crate::summary::ServedBy;
use model::host::{Medium, Storage};
use model::units::{percent, rate};

/// The rules of this module.
pub(super) const RULES: RuleTable = &[(Code::FasterThanLink, faster_than_link)];

/// The figure is certainly above what the links carry: it is wrong, or what the OS says of them is.
/// The counters of the devices tell which.
fn faster_than_link(context: &Context) -> Option<Draft> {
    let link = context.summary.link.as_deref().filter(|link| link.is_exceeded())?;
    let LinkUse { allows, share, share_low } = link;
    let least = (*share_low)?;
    let seen = format!(
        "at least {} (95 % interval) is above what the path carries, {}",
        rate(least * allows.bytes_per_second),
        allows.words()
    );
    let (severity, cause, remedy) = match moved_share(context) {
        Some(moved) if moved * least <= 1.0 => (
            Severity::Void,
            format!(
                "the devices moved at most {} of these bytes: something between them and the file \
                 served or kept the others, such as a cache or compression",
                percent(moved)
            ),
            "measure without what is between, or judge the file as this storage holds it",
        ),
        Some(_) => (
            Severity::Doubt,
            "the devices' own counters say that these bytes passed, so what the OS said of the \
             link is wrong, as of one that saved power then, or the time is"
                .to_string(),
            "compare the link with what lspci or the device's own tool says",
        ),
        None if context.is_served(&[ServedBy::Device]) => (
            Severity::Doubt,
            "no counter of a device shows whether these bytes passed: a cache served them, or \
             what the OS says of the link is wrong"
                .to_string(),
            "use a file that is larger than all caches, and look at the device's own counters",
        ),
        None => (
            Severity::Doubt,
            "a cache served them, of this machine or behind the same mount, or what the OS says \
             of the link is wrong"
                .to_string(),
            "use a file that is larger than all caches, on both sides",
        ),
    };
    Draft::sized(*share, severity, format!("{seen}: {cause}"), remedy)
}

/// The share of the bytes that the devices moved at most: for anyone, and each byte counted once.
/// `None` if that was not counted. Those of a command are what the devices counted.
fn moved_share(context: &Context) -> Option<f64> {
    if context.measured.case.command().is_some() {
        return Some(1.0);
    }
    let counts = |storage: &&Storage| storage.medium == Medium::Block && storage.counts_bytes();
    context.measured.storage.filter(counts)?;
    context.total_share(|trial| match context.write() {
        Some(_) => Some((context.measured.written_at_most(trial)?, trial.sample.written_bytes())),
        None => Some((context.measured.read_once(trial)?, trial.sample.bytes())),
    })
}
