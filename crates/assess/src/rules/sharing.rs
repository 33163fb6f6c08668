//! Reads of a file that was overwritten meanwhile.

use super::context::{Context, Draft, RuleTable};
use crate::counted::Counted;
use crate::finding::{Code, Severity};
use crate::shared::{Sides, sum};
use model::generation::PAGE;
use model::units::{bytes, percent};

/// The rules of this module.
pub(super) const RULES: RuleTable =
    &[(Code::TornPages, torn_pages), (Code::OverlapUnseen, overlap_unseen)];

/// A page had a word that nobody wrote there: neither before the trial nor in it.
pub(super) fn wrong_pages(context: &Context) -> Option<Draft> {
    let all = context.measured.all().filter_map(|trial| trial.pages());
    let pages = all.reduce(|sum, pages| sum.plus(&pages)).filter(|pages| pages.wrong > 0)?;
    let is_wrong = |trial: &&Counted| trial.pages().is_some_and(|pages| pages.wrong > 0);
    let (trials, all) =
        (context.measured.all().filter(is_wrong).count(), context.measured.all().count());
    let message = format!(
        "{} of {} pages of {} that were read hold what nobody wrote there (in {trials} of {all} \
         trials): bytes were lost, misplaced or changed",
        pages.wrong,
        pages.count(),
        bytes(PAGE),
    );
    let remedy =
        "the storage lost or changed the data while several used it, or the worker is wrong";
    Draft::sized(trials as f64 / all as f64, Severity::Void, message, remedy)
}

/// A read returned parts of several writes (docs/method): within a page, or within a block that
/// was written at once.
fn torn_pages(context: &Context) -> Option<Draft> {
    let pages = sum(context.measured)?;
    let sides = Sides::of(context.measured);
    let is_whole_write = sides.as_ref().is_some_and(Sides::writes_whole_blocks);
    let torn_ops = if is_whole_write { pages.mixed_ops } else { 0 };
    if pages.torn == 0 && torn_ops == 0 {
        return None;
    }
    let ops = context.measured.trials.iter().flat_map(Counted::readers_beside_writes);
    let ops = ops.fold(0u64, |sum, (sample, _)| sum.saturating_add(sample.ops()));
    let trials = context.how_many(|trial| {
        let pages = trial.pages().unwrap_or_default();
        pages.torn > 0 || (is_whole_write && pages.mixed_ops > 0)
    });
    let blocks = sides.map_or(String::new(), |sides| format!("; {}", sides.said()));
    let of_ops = match torn_ops {
        0 => String::new(),
        torn => format!(
            "; {torn} of {ops} reads ({}) returned parts of several writes, though each call wrote \
             whole blocks of theirs",
            percent(torn as f64 / ops as f64)
        ),
    };
    let message = format!(
        "{} of {} pages of {} were torn: a part was of one write and a part of another (in \
         {trials}{blocks}){of_ops}",
        pages.torn,
        pages.count(),
        bytes(PAGE)
    );
    let remedy = "a program that reads what is being written needs locks, or checksums and a retry";
    let torn = (pages.torn as f64 / pages.count() as f64).max(torn_ops as f64 / ops as f64);
    Draft::sized(torn, Severity::Note, message, remedy)
}

/// Everything that was read beside the writes had one content (docs/method): no proof that the
/// reads met them. A doubt if most trials are like that.
fn overlap_unseen(context: &Context) -> Option<Draft> {
    let is_unseen = |trial: &Counted| trial.pages().is_some_and(|pages| !pages.has_changed());
    let unseen = context.measured.trials.iter().filter(|trial| is_unseen(trial)).count();
    if unseen == 0 {
        return None;
    }
    let severity = if 2 * unseen > context.measured.n() { Severity::Doubt } else { Severity::Note };
    let pages = sum(context.measured)?;
    let what = match pages.written() {
        0 => "the reads met nothing of what was written meanwhile",
        _ => "the reads met only one of the contents that were written in turn",
    };
    let message = format!(
        "{what} (in {}): nothing shows that they were at work at the same place and time",
        context.how_many(is_unseen)
    );
    let remedy = "use a smaller file, more time, or a writer that reaches more of the file";
    Draft::sized(context.share_of_trials(is_unseen), severity, message, remedy)
}
