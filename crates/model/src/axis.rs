//! The axes that describe cases, in one table.
//!
//! The table defines flags with their help, the manual, recipes, ids, labels, CSV and JSON columns,
//! metric labels, and the wire format.

#[macro_use]
mod field;
mod usual;
mod say;
mod number;
mod load;
mod hosts;
mod metadata;
mod command;
mod writing;
mod place;
mod table;
mod case;
mod form;

use crate::case::{Case, Kind};
use crate::units::{self, ParseError};
use crate::zipf::Theta;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use std::borrow::Cow;
use std::collections::HashSet;

pub use case::{ids, of_older};
pub use form::AxesForm;
pub use table::AXES;
pub use usual::Usual;

use number::{count, rate, small};
pub use number::{offset as parse_offset, rate as parse_rate};
use say::Say;
use usual::NEVER;

/// One axis.
#[derive(Debug)]
pub struct Axis {
    /// Its name in recipes, records and columns, and on the wire.
    pub name: &'static str,
    /// Its flag, if that is not its name.
    flag: Option<&'static str>,
    /// What it means: one sentence for the help, without the values.
    pub meaning: &'static str,
    /// The flag's names in other tools, mostly fio.
    pub elsewhere: &'static [&'static str],
    /// Its values.
    pub domain: Domain,
    /// Alternative spellings of values.
    pub aliases: &'static [(&'static str, &'static str)],
    /// Its column in machine-readable tables, unless its name and unit determine it.
    column: Option<&'static str>,
    /// Symbolic values, each with its meaning. Some depend on the machine.
    pub symbols: &'static [(&'static str, &'static str)],
    /// The default value in recipes, by kind of work; `None` if the kind lacks this axis.
    pub usual: Usual,
    /// The value of all cases in records that are older than the axis, by kind of work.
    pub before: Usual,
    /// What labels show for a case of the kind that has no value.
    absent: Option<&'static str>,
    /// Whether a comparison of two records matches cases that differ in it.
    pub across: Across,
    /// Whether more of it gives more throughput until something saturates; its values are whole
    /// numbers then. Larger values may be pruned.
    pub saturates: bool,
    /// The baseline within a run: cases that differ only in this axis are compared with it.
    pub baseline: Option<Usual>,
    /// How an id shows the value.
    word: IdWord,
    /// How labels and sentences show the value.
    say: Say,
    get: fn(&Case) -> Option<String>,
    set: fn(&mut Case, &str) -> Result<(), ParseError>,
}

/// The values of an axis.
#[derive(Debug)]
pub enum Domain {
    /// Names that are defined elsewhere.
    Other,
    /// A name from the list for the kind of work.
    Names(&'static [(Kind, &'static [&'static str])]),
    /// A size in bytes.
    Bytes,
    /// A size in bytes, or several with their percentages.
    Blocks,
    /// A whole number with this minimum.
    Count(u64),
    /// A number of hosts, or which one.
    Hosts,
    /// Operations per second.
    Rate,
    /// A positive number.
    Exponent,
    /// A duration.
    Time,
}

/// A value of an axis for programs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Quantity {
    /// A name.
    Text(String),
    /// A number of bytes, or a count.
    Whole(u64),
    /// A duration in seconds, or an exponent.
    Real(f64),
}

/// Whether cases of two records that differ in an axis ask the same question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Across {
    /// No: they are not matched.
    Apart,
    /// Not quite: they are compared only with `--anyway`.
    Insisted,
    /// Yes.
    Same,
}

/// How an id shows the value of an axis.
#[derive(Debug)]
enum IdWord {
    /// Not shown.
    Silent,
    /// Shown after this text, unless it equals the default.
    After(&'static str, Option<&'static str>),
    /// Shown by this function.
    Own(fn(&Case) -> Option<String>),
}

impl Axis {
    /// The common defaults of axes.
    const PLAIN: Axis = Axis {
        name: "",
        flag: None,
        meaning: "",
        elsewhere: &[],
        domain: Domain::Other,
        column: None,
        aliases: &[],
        symbols: &[],
        usual: NEVER,
        before: NEVER,
        absent: None,
        across: Across::Apart,
        saturates: false,
        baseline: None,
        word: IdWord::After("", None),
        say: Say::of("{}"),
        get: |_| None,
        set: |_, _| Ok(()),
    };

    /// Its flag, without the dashes.
    pub fn flag(&self) -> &'static str {
        self.flag.unwrap_or(self.name)
    }

    /// The axes that a command line or a recipe can set: a command is given as it is.
    pub fn settable() -> impl Iterator<Item = &'static Axis> {
        let kinds = [Kind::Read, Kind::Write, Kind::Memory, Kind::Metadata];
        AXES.iter().filter(move |axis| kinds.iter().any(|kind| axis.is_of(*kind)))
    }

    /// The axis with this name.
    pub fn named(name: &str) -> Option<&'static Axis> {
        AXES.iter().find(|axis| axis.name == name)
    }

    /// The axes of this kind of work.
    pub fn all_of(kind: Kind) -> impl Iterator<Item = &'static Axis> {
        AXES.iter().filter(move |axis| axis.is_of(kind))
    }

    /// Whether this kind of work has the axis.
    pub fn is_of(&self, kind: Kind) -> bool {
        self.usual.of(kind).is_some()
    }

    /// The case to compare `case` with in a run: the same case at the axis's baseline. `None` if
    /// the axis has no baseline for this kind of work.
    pub fn at_baseline(&self, case: &Case) -> Option<Case> {
        let value = self.baseline?.of(case.kind()).filter(|_| self.is_of(case.kind()))?;
        let mut base = case.clone();
        self.set(&mut base, value).ok()?;
        Some(base)
    }

    /// The value in `case`; `None` if it lacks this axis.
    pub fn value(&self, case: &Case) -> Option<String> {
        (self.get)(case)
    }

    /// The value of `case` in labels, in which the lack of one may be a value of its own.
    pub fn shown(&self, case: &Case) -> Option<String> {
        let absent = self.absent.filter(|_| self.is_of(case.kind()));
        self.value(case).or_else(|| absent.map(str::to_string))
    }

    /// Sets the value in `case` from text.
    ///
    /// # Errors
    /// If the text is not a value of the axis.
    pub fn set(&self, case: &mut Case, text: &str) -> Result<(), ParseError> {
        (self.set)(case, text)
    }

    /// The value of `case` in an id; `None` if it lacks the axis or has the default.
    pub fn word(&self, case: &Case) -> Option<String> {
        match self.word {
            IdWord::Silent => None,
            IdWord::Own(word) => word(case),
            IdWord::After(before, usual) => {
                let value = self.value(case)?;
                (Some(value.as_str()) != usual).then(|| format!("{before}{value}"))
            }
        }
    }

    /// The value of `case` in a sentence: `depth 8`, `1 thread`.
    pub fn phrase(&self, case: &Case) -> Option<String> {
        let value = self.shown(case)?;
        Some(self.say.phrase(&value))
    }

    /// The value of `case` in a label: `4KiB`, `depth 8`.
    pub fn label(&self, case: &Case) -> Option<String> {
        Some(self.say(&self.shown(case)?))
    }

    /// The value in a short label: `4KiB`, `d8`.
    pub fn short_label(&self, case: &Case) -> Option<String> {
        Some(self.say.short_label(&self.shown(case)?))
    }

    /// This value in a label.
    pub fn say(&self, value: &str) -> String {
        self.say.label(value)
    }

    /// Whether labels of this kind of work omit this value because it is expected by default.
    pub fn is_quiet(&self, kind: Kind, value: &str) -> bool {
        self.across == Across::Same || self.say.is_quiet(kind, value)
    }

    /// Its help: the meaning and the values.
    pub fn help(&self) -> String {
        let example = match self.domain {
            Domain::Names(_) | Domain::Other | Domain::Count(_) | Domain::Hosts => None,
            Domain::Blocks => Some("4k, 1MiB, 4k/60:64k/40".to_string()),
            Domain::Bytes => Some("4k, 1MiB, 256MiB".to_string()),
            Domain::Rate => Some("500, 40k, 1.5M".to_string()),
            Domain::Exponent => Some("0.6, 0.99, 1.2".to_string()),
            Domain::Time => Some("500ms, 2s".to_string()),
        };
        let names = match self.domain {
            Domain::Names([(_, names), ..]) if !self.differs_by_kind() => Some(names.join(", ")),
            Domain::Names(all) => {
                let of =
                    |(kind, names): &(Kind, &[&str])| format!("to {kind}: {}", names.join(", "));
                Some(all.iter().map(of).collect::<Vec<_>>().join("; "))
            }
            _ => example,
        };
        let symbols = self.symbols.iter().map(|(symbol, meaning)| format!("{symbol}: {meaning}"));
        let parts: Vec<String> = names.into_iter().chain(symbols).collect();
        let values =
            if parts.is_empty() { String::new() } else { format!(" [{}]", parts.join("; ")) };
        format!("{}{values}", self.meaning)
    }

    /// The fixed values: names and symbols.
    pub fn known(&self) -> Vec<&'static str> {
        let names = match self.domain {
            Domain::Names(all) => all.iter().flat_map(|(_, names)| names.iter().copied()).collect(),
            _ => Vec::new(),
        };
        let mut known: Vec<&str> =
            names.into_iter().chain(self.symbols.iter().map(|(symbol, _)| *symbol)).collect();
        let mut seen = HashSet::new();
        known.retain(|value| seen.insert(*value));
        known
    }

    /// Whether the names differ between kinds of work.
    pub fn differs_by_kind(&self) -> bool {
        match self.domain {
            Domain::Names([(_, first), others @ ..]) => {
                others.iter().any(|(_, names)| names != first)
            }
            _ => false,
        }
    }

    /// The standard spelling of `text`, or `text` itself.
    pub fn spelled<'t>(&self, text: &'t str) -> &'t str {
        let alias = self.aliases.iter().find(|(alias, _)| *alias == text);
        alias.map_or(text, |(_, name)| *name)
    }

    /// Its column in machine-readable tables, and its label in metrics: `block_bytes`.
    pub fn column(&self) -> Cow<'static, str> {
        match (self.column, &self.domain) {
            (Some(column), _) => column.into(),
            (None, Domain::Bytes | Domain::Blocks) => format!("{}_bytes", self.name).into(),
            (None, _) => self.name.into(),
        }
    }

    /// The value in `case` for programs: bytes and counts are whole numbers, times are seconds.
    pub fn quantity(&self, case: &Case) -> Option<Quantity> {
        let text = self.value(case)?;
        let read = match self.domain {
            Domain::Bytes | Domain::Blocks => units::parse_bytes(&text).map(Quantity::Whole),
            Domain::Count(_) | Domain::Hosts => count(self.name, &text, 0).map(Quantity::Whole),
            Domain::Rate => rate(&text).map(Quantity::Whole),
            Domain::Time => units::parse_time(&text).map(|time| Quantity::Real(time.as_secs_f64())),
            Domain::Exponent => text.parse().map(|theta: Theta| Quantity::Real(theta.value())),
            Domain::Other | Domain::Names(_) => return Some(Quantity::Text(text)),
        };
        Some(read.unwrap_or(Quantity::Text(text)))
    }

    /// Whether only some cases of this kind have a value.
    pub fn is_optional(&self, kind: Kind) -> bool {
        self.usual.of(kind).is_some() && self.value(&Case::blank(kind)).is_none()
    }

    /// The names for a kind of work; empty if the axis has no names.
    pub fn names(&self, kind: Kind) -> &'static [&'static str] {
        match self.domain {
            Domain::Names(all) => {
                all.iter().find(|(of, _)| *of == kind).map_or(&[], |(_, names)| *names)
            }
            _ => &[],
        }
    }
}

impl PartialEq for Axis {
    fn eq(&self, other: &Axis) -> bool {
        self.name == other.name
    }
}

impl Eq for Axis {}

/// An axis is written as its name.
impl Serialize for Axis {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

impl<'de> Deserialize<'de> for &'static Axis {
    fn deserialize<D: Deserializer<'de>>(found: D) -> Result<&'static Axis, D::Error> {
        let name = String::deserialize(found)?;
        let known = || AXES.iter().map(|axis| axis.name).collect::<Vec<_>>();
        Axis::named(&name)
            .ok_or_else(|| de::Error::custom(units::unknown_name("axis", &name, &known())))
    }
}

fn put<T>(slot: Option<&mut T>, value: Result<T, ParseError>) -> Result<(), ParseError> {
    if let Some(slot) = slot {
        *slot = value?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{BufferPages, Cache, Call, Engine, Io, Populated, Work, WriteWork};
    use crate::zoo;
    use std::time::Duration;

    /// A bare number tells nobody what it is.
    #[test]
    fn a_share_of_reads_says_what_it_is() {
        let mut case = Case::own(Work::Write(WriteWork { read_share: 90, ..WriteWork::default() }));
        let axis = Axis::named("read_share").expect("it is an axis");
        let labels = [axis.label(&case), axis.short_label(&case)].map(Option::unwrap);
        assert_eq!(labels, ["90 % reads"; 2]);
        axis.set(&mut case, "0").expect("it is a share");
        assert_eq!(axis.label(&case).as_deref(), Some("writes alone"));
    }

    #[test]
    fn axes_round_trip() {
        for case in zoo::cases() {
            assert_eq!(Case::from_axes(&case.axes()).as_ref(), Ok(&case));
            let json = serde_json::to_string(&case).expect("a case is plain data");
            assert_eq!(serde_json::from_str::<Case>(&json).expect("it was just written"), case);
        }
    }

    #[test]
    fn ids_differ_where_cases_differ() {
        let cases = zoo::cases();
        let mut ids: Vec<String> = cases.iter().map(Case::id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), cases.len());
    }

    #[test]
    fn an_axis_that_is_missing_or_doubled_is_named() {
        let mut axes = zoo::cases()[0].axes();
        axes.push(axes[1].clone());
        let twice = Case::from_axes(&axes).unwrap_err().to_string();
        assert_eq!(twice, "axis 'engine' is given twice");
        let missing = Case::from_axes(&axes[2..4]).unwrap_err().to_string();
        assert_eq!(missing, "axis 'engine' is missing");
    }

    #[test]
    fn a_peer_whose_name_could_lead_elsewhere_is_refused() {
        let mut axes = zoo::cases()[0].axes();
        axes[0].1 = "../../x".to_string();
        let error = Case::from_axes(&axes).unwrap_err().to_string();
        assert!(error.contains("'../../x' is not a valid name of a peer"), "{error}");
        let mut peer = serde_json::to_value(zoo::peer()).expect("a peer is plain data");
        peer["name"] = "../x".into();
        let error = serde_json::from_value::<crate::peer::Peer>(peer).unwrap_err().to_string();
        assert!(error.contains("'../x' is not a valid name of a peer"), "{error}");
    }

    #[test]
    fn buffers_of_older_records_keep_their_ids_and_their_pages() {
        let read = |engine, block, depth| {
            let io = Io { block, depth, size: 64 << 20, ..zoo::plain().io };
            let work = crate::reading::ReadWork { io, engine, ..zoo::plain() };
            Case::own(crate::case::Work::Read(work))
        };
        let older = |case: &Case| {
            let mut axes = case.axes();
            axes.retain(|(axis, _)| *axis != "pages");
            Case::from_axes(&axes).expect("records of older programs are read")
        };
        let pages = |case: &Case| Axis::named("pages").expect("it is one").value(case);
        // They filled no huge page, whatever the machine.
        let small = read(Engine::Uring, 1 << 20, 1);
        assert_eq!((older(&small), pages(&small)), (small.clone(), Some("base".to_string())));
        let large = read(Engine::Uring, 1 << 20, 2);
        let old = older(&large);
        assert_eq!(pages(&old), Some("fitting".to_string()));
        assert_eq!(old.id(), large.id());
        assert_eq!(Case::from_axes(&old.axes()), Ok(old.clone()));
        assert_eq!(ids([&old].into_iter()), [large.id()]);
        let both = ids([&old, &large].into_iter());
        assert_eq!(both, [format!("{} pages:fitting", large.id()), large.id()]);
        // Engines without buffers have the same value, so that all compare with each other.
        let mapped = older(&read(Engine::Mmap, 2 << 20, 1));
        assert_eq!(pages(&mapped), Some("fitting".to_string()));
        let mut huge = large.clone();
        huge.io_mut().expect("it reads a file").pages = BufferPages::Huge;
        assert_eq!(huge.id(), "uring as-is sequential 1MiB d2 pages:huge t1 sum of 64MiB");
    }

    #[test]
    fn a_case_of_the_first_version_is_read() {
        let newer = ["peer", "isa"];
        let case = zoo::cases().remove(0);
        let axes: Vec<_> =
            case.axes().into_iter().filter(|(axis, _)| !newer.contains(axis)).collect();
        assert_eq!(Case::from_axes(&axes), Ok(case));
    }

    #[test]
    fn warm_cases_keep_their_ids_and_older_ones_do_not_say_how_they_were_cached() {
        let work = crate::reading::ReadWork {
            io: Io { cache: Cache::Warm, ..zoo::plain().io },
            ..zoo::plain()
        };
        let case = Case::own(crate::case::Work::Read(work));
        let mut axes = case.axes();
        axes.retain(|(axis, _)| *axis != "populated");
        let old = Case::from_axes(&axes).expect("records of older programs are read");
        assert_eq!(old.populated(), Some(Populated::Unknown));
        assert_eq!(case.populated(), Some(Populated::ReadAhead));
        assert_eq!(old.id(), case.id());
        let both = ids([&old, &case].into_iter());
        assert_eq!(both, [format!("{} populated:unknown", case.id()), case.id()]);
        let mut random = case.clone();
        random.io_mut().expect("it reads a file").populated = Populated::Random;
        assert!(random.id().contains(" populated:random "), "{}", random.id());
        // Only a warm file was cached.
        let mut cold = random.clone();
        cold.io_mut().expect("it reads a file").cache = Cache::Cold;
        cold.clear_meaningless();
        assert_eq!((cold.populated(), cold.id().contains("populated")), (None, false));
        assert!(cold.axes().iter().all(|(axis, _)| *axis != "populated"));
    }

    #[test]
    fn every_row_of_the_table_is_whole() {
        let mut names = HashSet::new();
        for axis in AXES {
            let name = axis.name;
            let mut called = axis.elsewhere.iter().copied().chain([axis.flag()]);
            assert!(called.all(|name| names.insert(name)), "{name}: a flag of two axes");
            assert!(!axis.meaning.is_empty() && axis.say.phrase("7").contains('7'), "{name}");
            let kinds = Kind::ALL.iter().filter(|kind| axis.is_of(**kind));
            for kind in kinds {
                let mut case = Case::blank(*kind);
                // Only an open loop has arrivals, only a warm file was cached, and only a change
                // has a sync.
                let has_all = |io: &mut Io| (io.rate, io.cache) = (1, Cache::Warm);
                case.io_mut().into_iter().for_each(has_all);
                case.metadata_mut().into_iter().for_each(|work| work.call = Call::Unlink);
                let usual = axis.usual.of(*kind).expect("it was asked for");
                let is_symbol = axis.symbols.iter().any(|(symbol, _)| *symbol == usual);
                // A command has no usual name.
                let is_given = axis.name == "command";
                let is_set = is_symbol || is_given || axis.set(&mut case, usual).is_ok();
                assert!(is_set, "{name} {usual}");
                axis.names(*kind).iter().for_each(|value| {
                    assert_eq!(axis.set(&mut case, value), Ok(()), "{name} {value}");
                    assert_eq!(axis.value(&case).as_deref(), Some(*value), "{name}");
                });
            }
            for (alias, value) in axis.aliases {
                assert!(axis.known().contains(value), "{name}: {alias}");
                assert_eq!(axis.spelled(alias), *value);
            }
        }
    }

    #[test]
    fn ids_differ_where_cases_do() {
        let mut cases = zoo::cases();
        let longer = |case: &Case| {
            let mut case = case.clone();
            *case.time_mut()? += Duration::from_secs(1);
            Some(case)
        };
        // A command has no limit.
        cases.extend(zoo::cases().iter().filter_map(longer));
        let ids: HashSet<String> = ids(cases.iter()).into_iter().collect();
        assert_eq!(ids.len(), cases.len());
    }
}
