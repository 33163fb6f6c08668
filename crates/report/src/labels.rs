//! Labels for cases that are shown together: they name only the axes in which the cases differ.

use crate::label_values::{
    LabelValue, LabelValues, all_but, common, ordered, phrase, said_of, values,
};
use crate::members::{AXIS, MemberNames};
use crate::part;
use crate::phrases::{Phrase, joined};
use crate::words::listed;
use assess::Assessment;
use assess::one_host::OneHost;
use assess::summary::Summary;
use model::axis::{Axis, Domain};
use model::case::{Case, Kind, Op};
use model::plan::Role;
use model::view::Heading;
use std::collections::{HashMap, HashSet};

/// A group and a kind of work.
type GroupOfKind = (String, Kind);
/// Labels of the cases of a report.
pub(crate) struct CaseLabels<'a> {
    cases: HashMap<String, &'a Case>,
    group: Box<dyn Fn(&Case) -> String + 'a>,
    /// The kinds of work in each group.
    kinds: HashMap<String, HashSet<Kind>>,
    /// The values that all cases of a group and kind share.
    common: HashMap<GroupOfKind, LabelValues>,
    /// The values that all cases of a kind share, in any group.
    everywhere: HashMap<Kind, LabelValues>,
    /// Axes that the heading of a group names already.
    said: Vec<&'a str>,
    /// An axis, with a hash of all other values, if some cases differ only in this axis.
    alone: HashSet<(&'static str, u64)>,
    /// For cases that would share a label: the axes that tell them apart, by id. They have no
    /// meaning in these cases, such as the block of a case that only syncs.
    last: HashMap<String, Vec<&'static Axis>>,
    /// The host of the record, if it is one of several.
    one_host: Option<&'a OneHost>,
    /// Who takes part.
    members: MemberNames<'a>,
    /// Whether a block device is read in place of files.
    is_raw: bool,
}

impl<'a> CaseLabels<'a> {
    /// Labels for the cases of an assessment.
    pub(crate) fn of(assessment: &'a Assessment) -> CaseLabels<'a> {
        CaseLabels::by(assessment, |_| String::new())
    }

    /// Labels for cases in groups. `group` returns a group's distinctive words; labels name only
    /// the differences within a group.
    pub(crate) fn by(
        assessment: &'a Assessment,
        group: impl Fn(&Case) -> String + 'a,
    ) -> CaseLabels<'a> {
        let asked = assessment.cases.iter().filter(|summary| summary.role == Role::Asked);
        let skipped: Vec<&Case> = assessment.skips.iter().map(|skip| &skip.case).collect();
        let shown: Vec<&Case> =
            asked.map(|summary| &summary.case).chain(skipped.iter().copied()).collect();
        let measured = assessment.measured().map(|summary| (summary.id.clone(), &summary.case));
        let skipped = skipped.into_iter().map(|case| (case.id(), case));
        let labels = CaseLabels::new(&shown, skipped.chain(measured).collect(), Box::new(group));
        let Assessment { one_host, header, .. } = assessment;
        let members = MemberNames { called: &header.hosts, rank: header.plan.rank };
        let is_raw = header.storage.as_ref().is_some_and(|it| it.is_raw());
        CaseLabels { one_host: one_host.as_ref(), members, is_raw, ..labels }
    }

    /// Labels for cases below headings: cases with the same values of these axes (or of the same
    /// `kind`) share one.
    pub(crate) fn below_axes(assessment: &'a Assessment, axes: &'a [Heading]) -> CaseLabels<'a> {
        let labels = CaseLabels::by(assessment, |case| heading(axes, case));
        CaseLabels { said: axes.iter().map(|heading| heading.name()).collect(), ..labels }
    }

    /// Labels for cases that are listed together.
    pub(crate) fn of_cases(cases: impl Iterator<Item = &'a Case>) -> CaseLabels<'a> {
        let cases: Vec<&Case> = cases.collect();
        let ids = model::axis::ids(cases.iter().copied());
        let named = ids.into_iter().zip(cases.iter().copied()).collect();
        CaseLabels::new(&cases, named, Box::new(|_| String::new()))
    }

    /// The same, where those who take part are called so.
    pub(crate) fn with_members(self, members: MemberNames<'a>) -> CaseLabels<'a> {
        CaseLabels { members, ..self }
    }

    fn new(
        shown: &[&'a Case],
        cases: HashMap<String, &'a Case>,
        group: Box<dyn Fn(&Case) -> String + 'a>,
    ) -> CaseLabels<'a> {
        let mut kinds: HashMap<String, HashSet<Kind>> = HashMap::new();
        let mut places: HashMap<GroupOfKind, Vec<LabelValues>> = HashMap::new();
        let mut by_kind: HashMap<Kind, Vec<LabelValues>> = HashMap::new();
        let mut seen: HashMap<(&'static str, u64), LabelValue> = HashMap::new();
        let mut alone = HashSet::new();
        for case in shown {
            let (group, values) = (group(case), values(case));
            kinds.entry(group.clone()).or_default().insert(case.kind());
            for (axis, value) in &values {
                let rest = (*axis, all_but(axis, &group, &values));
                if seen.entry(rest).or_insert_with(|| value.clone()) != value {
                    alone.insert(rest);
                }
            }
            places.entry((group, case.kind())).or_default().push(values.clone());
            by_kind.entry(case.kind()).or_default().push(values);
        }
        let common = places.into_iter().map(|(place, all)| (place, common(&all))).collect();
        let everywhere =
            by_kind.into_iter().map(|(kind, all)| (kind, self::common(&all))).collect();
        let labels = CaseLabels {
            cases,
            group,
            kinds,
            common,
            everywhere,
            said: Vec::new(),
            alone,
            last: HashMap::new(),
            one_host: None,
            members: MemberNames::default(),
            is_raw: false,
        };
        let last = labels.last_resort(shown);
        CaseLabels { last, ..labels }
    }

    /// For cases whose labels are the same: the axes in which they differ all the same, by id.
    fn last_resort(&self, shown: &[&Case]) -> HashMap<String, Vec<&'static Axis>> {
        let mut alike: HashMap<(String, String), Vec<&Case>> = HashMap::new();
        for case in shown {
            alike.entry(((self.group)(case), self.label(case))).or_default().push(case);
        }
        let mut last = HashMap::new();
        for cases in alike.into_values().filter(|cases| cases.len() > 1) {
            let differs = |axis: &&Axis| {
                let first = cases.first().and_then(|case| axis.value(case));
                cases.iter().any(|case| axis.value(case) != first)
            };
            let axes: Vec<&Axis> = ordered().filter(differs).collect();
            last.extend(cases.iter().map(|case| (case.id(), axes.clone())));
        }
        last
    }

    /// The phrases of the label of `case`, one for each axis.
    pub(crate) fn phrases(&self, case: &Case) -> Vec<Phrase> {
        let (group, values) = ((self.group)(case), values(case));
        let of_kind = self.said_of_kind(&group, case.kind());
        let is_quiet = |axis: &Axis, value: &LabelValue| {
            axis.is_quiet(case.kind(), &value.text) || is_of_what_is_written(axis, case)
        };
        let place = (group, case.kind());
        let common = self.common_of(&place);
        let differs = |axis: &&Axis| {
            let value = values.get(axis.name)?;
            (common.get(axis.name) != Some(value)).then_some(value)
        };
        let is_told = |axis: &&Axis| {
            differs(axis).is_some_and(|value| {
                !is_quiet(axis, value)
                    || (axis.name != "time" && common.contains_key(axis.name))
                    || is_held_against(axis, case.kind())
                        && self.alone.contains(&(axis.name, all_but(axis.name, &place.0, &values)))
            })
        };
        let is_known = |axis: &&Axis| differs(axis).is_some() && axis.name != "time";
        let is_open = |axis: &&Axis| !self.said.contains(&axis.name);
        let mut told: Vec<&Axis> = ordered().filter(is_open).filter(is_told).collect();
        let is_alone =
            !place.0.is_empty() && self.common.get(&place).is_none_or(LabelValues::is_empty);
        if told.is_empty() && (place.0.is_empty() || !self.said.is_empty()) && !is_alone {
            told = ordered().filter(is_open).filter(is_known).collect();
        }
        let said = told.iter().filter_map(|axis| phrase(axis, case));
        let is_new = |p: &Phrase| p.axis != "cache" || p.said != place.0;
        let of_kind = of_kind.filter(|phrase| !self.said.contains(&phrase.axis));
        let mut phrases: Vec<Phrase> = of_kind.into_iter().chain(said.filter(is_new)).collect();
        say_once(&mut phrases);
        if !self.last.is_empty() {
            let more = self.last.get(&case.id()).into_iter().flatten();
            let is_missing = |axis: &&&Axis| phrases.iter().all(|known| known.axis != axis.name);
            let more: Vec<Phrase> =
                more.filter(is_missing).filter_map(|axis| phrase(axis, case)).collect();
            phrases.extend(more);
        }
        self.members.say(case, &mut phrases);
        part::say(self.one_host, case, &mut phrases);
        phrases
    }

    /// The name of a kind of work, if it needs one beside the other kinds in its group.
    fn said_of_kind(&self, group: &str, kind: Kind) -> Option<Phrase> {
        let has = |wanted: Kind| self.kinds.get(group).is_some_and(|kinds| kinds.contains(&wanted));
        // Memory is named beside anything else, and writing beside reading.
        let is_told = match kind {
            Kind::Read => false,
            Kind::Write => has(Kind::Read),
            Kind::Memory => has(Kind::Read) || has(Kind::Write),
            // Its call, or the command itself, says what it is.
            Kind::Metadata | Kind::Command => false,
        };
        let said = Some(kind.name()).filter(|said| is_told && *said != group);
        said.map(|said| Phrase::of("kind", said))
    }

    /// The values that the cases of a group and kind share; if it has only one case, the values
    /// that all cases of the kind share.
    fn common_of(&self, place: &GroupOfKind) -> &LabelValues {
        static NONE: LabelValues = LabelValues::new();
        let of_place = self.common.get(place).filter(|common| !common.is_empty());
        of_place.or_else(|| self.everywhere.get(&place.1)).unwrap_or(&NONE)
    }

    /// The phrases that identify a case, starting with its group.
    fn with_group(&self, id: &str) -> Option<Vec<Phrase>> {
        let case = self.cases.get(id)?;
        let group = (self.group)(case);
        let group = Some(Phrase::of("group", &group)).filter(|group| !group.said.is_empty());
        let mut phrases = group.into_iter().chain(self.phrases(case)).collect();
        say_once(&mut phrases);
        Some(phrases)
    }

    /// The same, with the id as a fallback.
    pub(crate) fn words(&self, id: &str) -> Vec<Phrase> {
        let unknown = || vec![Phrase::of("id", id)];
        self.with_group(id).filter(|words| !words.is_empty()).unwrap_or_else(unknown)
    }

    /// The label of `case` for a cell.
    pub(crate) fn label(&self, case: &Case) -> String {
        let said = joined(self.phrases(case).into_iter().map(|phrase| phrase.short));
        if said.is_empty() { case.id() } else { said }
    }

    /// The label of a case, for a sentence.
    pub(crate) fn name(&self, id: &str) -> String {
        joined(self.words(id).into_iter().map(|phrase| phrase.said))
    }

    /// The label of a case, for a cell.
    pub(crate) fn short(&self, id: &str) -> String {
        joined(self.words(id).into_iter().map(|phrase| phrase.short))
    }

    /// The label of a case, for a cell below the heading of its group.
    pub(crate) fn below(&self, summary: &Summary) -> String {
        match self.phrases(&summary.case) {
            none if none.is_empty() => match summary.case.command() {
                // Its heading names the command, which alone tells it from others.
                Some(work) if self.said.contains(&"command") => work.cache.to_string(),
                _ => self.short(&summary.id),
            },
            phrases => joined(phrases.into_iter().map(|phrase| phrase.short)),
        }
    }

    /// What all rows share; `None` if they share nothing.
    pub(crate) fn common_line(&self) -> Option<String> {
        self.common_to_all("rows")
    }

    /// What all cases share, in full words: `common to all rows: pread, depth 1`. Of several kinds
    /// of cases, each has its own. `None` if they share nothing. `rows` is what cases are called.
    pub(crate) fn common_to_all(&self, rows: &str) -> Option<String> {
        let is_one = self.everywhere.len() == 1;
        let of = |kind: &Kind| {
            let mut values = self.everywhere.get(kind)?.clone();
            if let Some(size) = values.get_mut("size").filter(|_| self.is_raw) {
                size.phrase = format!("a range of {}", size.text);
            }
            if let (Some(host), Some(hosts)) = (self.one_host, values.get_mut(AXIS)) {
                hosts.phrase = part::of(host, &hosts.phrase);
            }
            let said = listed(&said_of(&values));
            let named = || if is_one { said.clone() } else { format!("{kind}: {said}") };
            (!said.is_empty()).then(named)
        };
        let said: Vec<String> = Kind::ALL.iter().filter_map(of).collect();
        let of_a_kind = if is_one { "" } else { " of a kind" };
        (!said.is_empty()).then(|| format!("common to all {rows}{of_a_kind}: {}", said.join("; ")))
    }

    /// What the cases of a group share, but not all cases of their kind, in full words.
    pub(crate) fn said_of_group(&self, group: &str, summaries: &[&Summary]) -> String {
        let Some(first) = summaries.first() else { return String::new() };
        let kind = first.case.kind();
        let common = self.common.get(&(group.to_string(), kind));
        let (Some(common), Some(all)) = (common, self.everywhere.get(&kind)) else {
            return String::new();
        };
        let own = common
            .iter()
            .filter(|(axis, _)| !all.contains_key(*axis) && !["cache", "time"].contains(axis))
            .filter(|(axis, _)| !self.said.contains(axis));
        let own: LabelValues = own.map(|(axis, value)| (*axis, value.clone())).collect();
        listed(&said_of(&own))
    }
}

/// The engine `write` says that it writes, which a group or a kind may have said before it.
fn say_once(phrases: &mut Vec<Phrase>) {
    phrases.dedup_by(|engine, before| engine.said == before.said);
}

/// The heading of a case.
pub(crate) fn heading(all: &[Heading], case: &Case) -> String {
    joined(all.iter().filter_map(|heading| heading.label(case)))
}

/// Whether rows that differ only in this axis are meant to be compared. Then each label names its
/// value, even a usual one.
fn is_held_against(axis: &Axis, kind: Kind) -> bool {
    axis.baseline.is_some_and(|baseline| baseline.of(kind).is_some())
        || matches!(axis.domain, Domain::Count(1) | Domain::Hosts | Domain::Rate)
        || axis.name == "time"
}

/// Whether an axis describes written data, in a case that only syncs.
fn is_of_what_is_written(axis: &Axis, case: &Case) -> bool {
    let only_syncs = case.write().is_some_and(|work| work.op == Op::Sync);
    only_syncs && ["cache", "engine", "block", "pattern", "stride", "every"].contains(&axis.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::axis::AXES;
    use model::case::{Advice, Cache, Engine, Io, ReadWork, Work, WriteEngine, WriteWork};
    use model::pattern::Pattern;
    use model::zoo;
    use proptest::prelude::*;

    /// The labels of these cases in one table.
    fn labels_of(cases: &[Case]) -> Vec<String> {
        let labels = CaseLabels::of_cases(cases.iter());
        cases.iter().map(|case| labels.label(case)).collect()
    }

    fn read(io: Io, engine: Engine) -> Case {
        Case::own(Work::Read(ReadWork { io, engine, ..zoo::plain() }))
    }

    /// Its group, its kind and its engine may all have the same name.
    #[test]
    fn a_case_that_writes_says_so_once() {
        let of = |engine| Case::own(Work::Write(WriteWork { engine, ..zoo::plain_write() }));
        let cases = [of(WriteEngine::Write), of(WriteEngine::Pwrite)];
        let known = cases.iter().map(|case| (case.id(), case)).collect();
        let labels =
            CaseLabels::new(&[&cases[0], &cases[1]], known, Box::new(|_| "write".to_string()));
        let named = cases.each_ref().map(|case| labels.name(&case.id()));
        assert_eq!(named, ["write", "write pwrite"]);
    }

    #[test]
    fn what_is_common_is_said_once() {
        let cases = [
            read(Io { threads: 1, ..zoo::plain().io }, Engine::Mmap),
            read(Io { threads: 2, ..zoo::plain().io }, Engine::Pread),
        ];
        assert_eq!(labels_of(&cases), ["mmap", "pread t2"]);
        assert_eq!(
            CaseLabels::of_cases(cases.iter()).common_to_all("rows").unwrap_or_default(),
            "common to all rows: as-is, blocks of 4KiB, sequential, depth 1, all bytes summed \
             (touch sum) and a file of 1MiB"
        );
        assert_eq!(labels_of(&cases[..1]), ["mmap 4KiB sequential touch sum of 1MiB"]);
    }

    #[test]
    fn a_usual_value_is_said_where_another_row_differs_in_it_alone() {
        let io = Io { cache: Cache::Direct, pattern: Pattern::Random, ..zoo::plain().io };
        let all = [1, 2, 4].map(|depth| read(Io { depth, ..io }, Engine::Uring));
        assert_eq!(labels_of(&all), ["d1", "d2", "d4"]);
        let advised = |advice| Case::own(Work::Read(ReadWork { advice, ..zoo::plain() }));
        let all = [Advice::None, Advice::Random].map(advised);
        assert_eq!(labels_of(&all), ["no advice", "advice random"]);
    }

    #[test]
    fn what_reads_and_what_writes_is_told_apart() {
        let write = |engine, block| {
            let io = Io { block, ..zoo::plain_write().io };
            Case::own(Work::Write(WriteWork { io, engine, ..zoo::plain_write() }))
        };
        let with_block = |block| read(Io { block, ..zoo::plain().io }, Engine::Pread);
        let cases = [
            write(WriteEngine::Write, 4096),
            write(WriteEngine::Pwrite, 8192),
            with_block(4096),
            with_block(8192),
        ];
        assert_eq!(labels_of(&cases), ["write 4KiB", "write pwrite 8KiB", "4KiB", "8KiB"]);
        let said = CaseLabels::of_cases(cases.iter()).common_to_all("rows").unwrap_or_default();
        assert!(said.contains(" of a kind: read: "), "{said}");
        assert!(said.contains("(touch sum) and a file of 1MiB; write: write, as-is"), "{said}");
        // One read shares nothing with the writes.
        let three = CaseLabels::of_cases(cases[..3].iter());
        let said = three.common_to_all("rows").unwrap_or_default();
        assert!(said.contains(" of a kind: write: "), "{said}");
    }

    /// A case of the zoo, with some axes changed.
    fn any_case() -> impl Strategy<Value = Case> {
        let all = zoo::cases();
        let values = |axis: &'static Axis, case: &Case| -> Vec<String> {
            let names = axis.names(case.kind()).iter().map(|name| name.to_string());
            let numbers = ["1", "2", "8", "4096", "0", "200ms", "4KiB"].map(str::to_string);
            let peers = ["rust", "zebra"].map(str::to_string);
            names.chain(numbers).chain(peers).collect()
        };
        let change = (any::<prop::sample::Index>(), any::<prop::sample::Index>());
        (prop::sample::select(all), prop::collection::vec(change, 0..3)).prop_map(
            move |(mut case, changes)| {
                for (axis, value) in changes {
                    let axis = &AXES[axis.index(AXES.len())];
                    let values = values(axis, &case);
                    // A value that the axis rejects leaves the case unchanged.
                    let _ = axis.set(&mut case, &values[value.index(values.len())]);
                }
                Case::from_axes(&case.axes()).expect("a case reads its own axes")
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            max_shrink_iters: 200,
            ..ProptestConfig::with_cases(64)
        })]
        #[test]
        fn labels_and_ids_are_unique_and_name_what_differs(
            cases in prop::collection::vec(any_case(), 2..16)
        ) {
            let mut cases = cases;
            let mut known = HashSet::new();
            cases.retain(|case| known.insert(case.clone()));
            let ids: HashSet<String> = model::axis::ids(cases.iter()).into_iter().collect();
            prop_assert_eq!(ids.len(), cases.len());
            let labels = CaseLabels::of_cases(cases.iter());
            let said: Vec<String> = cases.iter().map(|case| labels.label(case)).collect();
            for (a, one) in cases.iter().enumerate() {
                for (b, other) in cases.iter().enumerate().take(a) {
                    prop_assert_ne!(&said[a], &said[b], "{:?} {:?}", one, other);
                    let (one_said, other_said) = (labels.phrases(one), labels.phrases(other));
                    let of = |all: &[Phrase], axis: &str| {
                        all.iter().find(|phrase| phrase.axis == axis).map(|p| p.said.clone())
                    };
                    let (one_has, other_has) = (values(one), values(other));
                    let same_kind = one.kind() == other.kind();
                    for axis in AXES.iter().filter(|axis| same_kind && axis.name != "time") {
                        let (x, y) = (one_has.get(axis.name), other_has.get(axis.name));
                        let has_meaning =
                            [one, other].iter().all(|case| !is_of_what_is_written(axis, case));
                        if x.is_some() && y.is_some() && x != y && has_meaning {
                            let told = of(&one_said, axis.name) != of(&other_said, axis.name);
                            prop_assert!(told, "{}: {} and {}", axis.name, said[a], said[b]);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn short_labels_differ_where_cases_differ() {
        let cases = zoo::cases();
        let short: HashSet<String> = labels_of(&cases).into_iter().collect();
        assert_eq!(short.len(), cases.len());
    }
}
