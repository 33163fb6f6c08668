//! Reasons to doubt what is said of several hosts, or directories, together.

use crate::concerned::concerned_names;
use crate::group::{distinct, grouped};
use crate::labels::CaseLabels;
use crate::members::members;
use crate::on_hosts;
use crate::text::{Text, figure, text};
use crate::words::{self, listed};
use assess::together::{Doubt, Joint, JointHost, Together};
use model::record::End;

/// The place of a doubt among the others, and how large it is; `None` if the header tells it.
fn place_and_size(doubt: &Doubt) -> Option<(u8, f64)> {
    match doubt {
        Doubt::HostLost { rounds, .. } => Some((0, *rounds as f64)),
        Doubt::ClockUncertain { share } => Some((1, *share)),
        Doubt::StartSkew { share } => Some((2, *share)),
        Doubt::EndsVary { share } => Some((3, *share)),
        Doubt::ServedDiffers { kinds } => Some((4, *kinds as f64)),
        Doubt::BuildsDiffer { builds } => Some((5, *builds as f64)),
        Doubt::RecordMissing { .. } => None,
    }
}

/// A doubt with its place and size, and its case.
type CaseDoubt<'a> = ((u8, f64), &'a Doubt, &'a Joint);

/// The doubts, each kind once, with its cases and the worst of them.
pub(crate) fn doubts(run: &Together, names: &CaseLabels) -> Vec<Text> {
    let all = run.cases.iter().flat_map(|joint| {
        let place = move |doubt| Some((place_and_size(doubt)?, doubt, joint));
        joint.doubts.iter().filter_map(place)
    });
    let mut kinds = grouped(all, |((place, _), ..)| *place);
    kinds.sort_by_key(|(place, _)| *place);
    let said = |(_, all): (u8, Vec<CaseDoubt>)| {
        let ids = distinct(all.iter().map(|(.., joint)| joint.id.clone()));
        let cases: Vec<&Joint> = all.iter().map(|(.., joint)| *joint).collect();
        let (_, worst, _) = all.iter().max_by(|a, b| a.0.1.total_cmp(&b.0.1))?;
        let said = said_doubt(run, worst, &cases);
        Some(text!("{}: {}", concerned_names(&ids, &|id| names.name(id)), said))
    };
    kinds.into_iter().filter_map(said).collect()
}

/// A doubt, which these cases have.
fn said_doubt(run: &Together, doubt: &Doubt, cases: &[&Joint]) -> Text {
    let longer = match on_hosts::are_commands(run) {
        true => "judge commands that take longer".to_string(),
        false => words::fitted("use a longer --time", &run.first.header.tool),
    };
    let share = |share: &f64| figure(words::percent(100.0 * share));
    match doubt {
        Doubt::HostLost { rounds, .. } => text!(
            "HostLost: {}; {} left out, and the figures are of those in the column '{}'.",
            lost(run),
            match rounds {
                0 => "no round is".to_string(),
                1 => "one round is".to_string(),
                several => format!("up to {several} rounds are"),
            },
            members(run).plural()
        ),
        Doubt::ClockUncertain { share: known } => text!(
            "ClockUncertain: a host's clock is known to {} of a trial only, so it is not known \
             well when all were active; {}.",
            share(known),
            longer
        ),
        Doubt::StartSkew { share: apart } => text!(
            "StartSkew: the last {} began up to {} of a trial after the first; {}{}.",
            members(run).noun(),
            share(apart),
            match (cases.iter().filter(|it| it.common.is_some()).count(), cases.len()) {
                (0, _) => "",
                (known, all) if known == all => "read 'all active', or ",
                _ => "read 'all active' where it is known, or ",
            },
            longer
        ),
        Doubt::EndsVary { share: ended } => text!(
            "EndsVary: time ended the trials of some {} or rounds ({} of the rounds), and \
             their work the others, so another time gives another figure; {}.",
            members(run).plural(),
            share(ended),
            longer
        ),
        Doubt::ServedDiffers { .. } => text!(
            "ServedDiffers: not the same served it on all hosts, so they did not do the same work; \
             judge it warm or cold, which each host proves."
        ),
        Doubt::BuildsDiffer { builds } => text!(
            "BuildsDiffer: the hosts have {} builds of ioassay, which may measure differently; \
             install one on all.",
            *builds
        ),
        Doubt::RecordMissing { .. } => Text::default(),
    }
}

/// Which hosts were lost, and when.
fn lost(run: &Together) -> String {
    let when = |host: &JointHost| match &host.end {
        End::Lost { at_ms, .. } => Some(format!("{} {}", host.called, words::lost_at(*at_ms))),
        End::Complete | End::Interrupted | End::Missing => None,
    };
    let lost: Vec<String> = run.hosts.iter().filter_map(when).collect();
    match lost.is_empty() {
        true => format!("not all {} measured all rounds", members(run).plural()),
        false => listed(&lost),
    }
}
