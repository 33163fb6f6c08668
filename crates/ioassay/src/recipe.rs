//! Recipes: a question as a TOML file, and the plan that answers it.
//!
//! ```toml
//! name = "page-latency"
//! question = "How long does it take to read a page, warm and cold?"
//! size = "256MiB"         # the test file, unless a group says otherwise
//! rounds = 10
//! time = "1s"             # of a trial
//!
//! [axes]                  # for all groups that read a file; each value may be a list
//! block = "4KiB"
//!
//! [[cases]]               # a group: the product of its axes
//! engine = ["pread", "mmap"]
//! cache = ["warm", "cold"]
//! ```
//! An axis of the command line replaces that axis in every group of files that has it; in groups
//! of memory only what they alone have, or where the recipe reads no file. Some values stand for
//! others: see [`crate::symbol`]; `ops` knows `"all"`: each block once.

use crate::symbol::resolve;
use anyhow::{Context, Result, bail};
use model::case::{Cache, Case, FileWork, OWN_PEER, Touch, Work};
use model::content::Kind;
use model::plan::{Place, Plan, ROUNDS_MIN, Role, Sweep, product};
use model::units;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The recipes that come with the program.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("survey", include_str!("../../../recipes/survey.toml")),
    ("page-latency", include_str!("../../../recipes/page-latency.toml")),
    ("read-methods", include_str!("../../../recipes/read-methods.toml")),
    ("memory", include_str!("../../../recipes/memory.toml")),
    ("count-tens", include_str!("../../../recipes/count-tens.toml")),
    ("compilers", include_str!("../../../recipes/compilers.toml")),
];

/// What is measured beside the cases of every recipe that reads files.
const CONTROLS: &str = include_str!("../../../recipes/controls.toml");

/// Axes with the values to try.
pub type Axes = BTreeMap<String, Values>;

/// One value or a list of them.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a text, a number or a list of them")]
pub enum Values {
    /// One.
    One(Value),
    /// A list.
    List(Vec<Value>),
}

/// A text or a number: `"4KiB"` or `32`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "expected a text or a number")]
pub enum Value {
    /// A number.
    Number(u64),
    /// A text.
    Text(String),
}

/// A question, as it is written.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Its name.
    pub name: String,
    /// The question it answers.
    pub question: String,
    /// Size of the test file.
    #[serde(default = "default_size")]
    pub size: String,
    /// What the test file is made of.
    #[serde(default)]
    pub content: Kind,
    /// How many rounds.
    #[serde(default = "default_rounds")]
    pub rounds: u32,
    /// How long a trial lasts at most.
    #[serde(default = "default_time")]
    pub time: String,
    /// A case is done when its interval is at most this wide: a share of the median.
    #[serde(default = "default_precision")]
    pub precision: f64,
    /// Axes of all groups that read a file.
    #[serde(default)]
    pub axes: Axes,
    /// Groups of cases.
    pub cases: Vec<Axes>,
}

fn default_size() -> String {
    "1GiB".to_string()
}

fn default_rounds() -> u32 {
    10
}

fn default_time() -> String {
    "1s".to_string()
}

fn default_precision() -> f64 {
    0.025
}

/// What the command line says instead of the recipe.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Axes.
    pub axes: Axes,
    /// Rounds.
    pub rounds: Option<u32>,
    /// The seed; else one made from the clock.
    pub seed: Option<u64>,
}

/// The axes of a case that reads a file, each with its usual value.
const FILE_AXES: &[(&str, &str)] = &[
    ("peer", OWN_PEER),
    ("engine", "pread"),
    ("cache", "warm"),
    ("pattern", "sequential"),
    ("stride", "16"),
    ("size", "1GiB"),
    ("block", "4KiB"),
    ("depth", "1"),
    ("threads", "1"),
    ("share", "contiguous"),
    ("touch", "sum"),
    ("isa", "auto"),
    ("advice", "none"),
    ("submission", "enter"),
    ("ops", "0"),
    ("time", "1s"),
];

/// The axes of a case that runs over memory.
const MEMORY_AXES: &[(&str, &str)] = &[
    ("peer", OWN_PEER),
    ("kernel", "read"),
    ("isa", "best"),
    ("working_set", "dram"),
    ("pages", "huge"),
    ("threads", "1"),
    ("time", "200ms"),
];

/// The built-in recipe of that name, or the one in the file of that path.
///
/// # Errors
/// When there is none, or it is no recipe: then the place in the TOML is told.
pub fn find(name: &str) -> Result<Recipe> {
    if let Some((_, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return parse(text).with_context(|| format!("built-in recipe '{name}'"));
    }
    if !name.ends_with(".toml") && !Path::new(name).exists() {
        let known: Vec<&str> = BUILT_IN.iter().map(|(known, _)| *known).collect();
        bail!("{} (a path to a TOML file works too)", units::unknown_name("recipe", name, &known));
    }
    let text = std::fs::read_to_string(name)
        .with_context(|| format!("failed to read the recipe '{name}'"))?;
    parse(&text).with_context(|| format!("the recipe '{name}' is broken"))
}

fn parse(text: &str) -> Result<Recipe> {
    let recipe: Recipe = toml::from_str(text)?;
    for group in recipe.cases.iter().chain([&recipe.axes]) {
        let known: Vec<&str> = axes_of(group).iter().map(|(name, _)| *name).collect();
        for axis in group.keys() {
            if !known.contains(&axis.as_str()) {
                bail!(units::unknown_name("axis", axis, &known));
            }
        }
    }
    if recipe.cases.is_empty() || recipe.rounds == 0 {
        bail!("a recipe needs at least one [[cases]] and one round");
    }
    Ok(recipe)
}

/// Which axes a group has: those of memory if it names a kernel, else those of a file.
fn axes_of(group: &Axes) -> &'static [(&'static str, &'static str)] {
    if group.contains_key("kernel") { MEMORY_AXES } else { FILE_AXES }
}

impl Recipe {
    /// The same recipe in a fraction of the time: the fewest rounds that have an interval, and
    /// half the time and size.
    pub fn quick(mut self) -> Result<Recipe> {
        self.rounds = ROUNDS_MIN;
        let halve_size =
            |text: &str| -> Result<String> { Ok(units::bytes(units::parse_bytes(text)? / 2)) };
        let halve_time =
            |text: &str| -> Result<String> { Ok(units::time(units::parse_time(text)? / 2)) };
        self.size = halve_size(&self.size)?;
        self.time = halve_time(&self.time)?;
        for group in self.cases.iter_mut().chain([&mut self.axes]) {
            for (axis, values) in group.iter_mut() {
                let list = values.texts();
                *values = match axis.as_str() {
                    "size" => Values::from_texts(
                        list.iter().map(|t| halve_size(t)).collect::<Result<_>>()?,
                    ),
                    "time" => Values::from_texts(
                        list.iter().map(|t| halve_time(t)).collect::<Result<_>>()?,
                    ),
                    _ => continue,
                };
            }
        }
        Ok(self)
    }

    /// Whether any group reads a file.
    pub fn reads_files(&self) -> bool {
        self.cases.iter().any(|group| !group.contains_key("kernel"))
    }

    /// The cases that are asked for, with what the command line changes.
    ///
    /// # Errors
    /// When a value is not one of its axis, or a changed axis is one that no group has.
    pub fn cases(&self, changes: &Changes, place: &Place) -> Result<Vec<Case>> {
        for axis in changes.axes.keys() {
            if !self.cases.iter().any(|group| self.takes(group, axis)) {
                bail!("the recipe '{}' has no axis '{axis}' to change", self.name);
            }
        }
        let mut cases = Vec::new();
        for group in &self.cases {
            let mut group = product(&self.sweep(group, changes, place)?)?;
            group.iter_mut().for_each(count_all_blocks);
            cases.extend(group);
        }
        Ok(cases)
    }

    /// Whether a change of `axis` is one of `group`. A ladder names the threads of memory and of
    /// files apart: such a change is of files, unless there are none.
    fn takes(&self, group: &Axes, axis: &str) -> bool {
        let has = |axes: &[(&str, &str)]| axes.iter().any(|(name, _)| *name == axis);
        let of_file = !group.contains_key("kernel");
        has(axes_of(group)) && (of_file || !has(FILE_AXES) || !self.reads_files())
    }

    /// Each axis of a group with its values: from the command line, else the group, else the
    /// recipe, else the usual one.
    fn sweep(&self, group: &Axes, changes: &Changes, place: &Place) -> Result<Sweep> {
        let of_file = !group.contains_key("kernel");
        let pick = |axis: &str, usual: &str| -> Vec<String> {
            let recipe_wide = self.axes.get(axis).filter(|_| of_file);
            let changed = changes.axes.get(axis).filter(|_| self.takes(group, axis));
            match changed.or(group.get(axis)).or(recipe_wide) {
                Some(values) => values.texts(),
                None if of_file && axis == "size" => vec![self.size.clone()],
                None if of_file && axis == "time" => vec![self.time.clone()],
                None => vec![usual.to_string()],
            }
        };
        let mut sweep = Sweep::new();
        for (axis, usual) in axes_of(group) {
            let mut values = Vec::new();
            for text in pick(axis, usual) {
                values.extend(resolve(axis, &text, place)?);
            }
            sweep.push((axis.to_string(), values));
        }
        Ok(sweep)
    }

    /// What bounds the cases of `plan`: memory by one thread and by all, the device past the page
    /// cache, and the tool's own overhead. Nothing where no file is read.
    fn controls(&self, plan: &Plan, place: &Place) -> Result<Vec<Case>> {
        let files: Vec<_> = plan.cases.iter().filter_map(|planned| planned.case.file()).collect();
        let Some(largest) = files.iter().map(|work| work.size).max() else {
            return Ok(Vec::new());
        };
        let mut controls = parse(CONTROLS)?;
        controls.size = units::bytes(largest);
        let past_cache = |work: &FileWork| work.cache == Cache::Direct;
        let claims_device = files.iter().any(|work| past_cache(work) || work.cache == Cache::Cold);
        let is_wanted = |case: &Case| claims_device || !case.file().is_some_and(past_cache);
        let already =
            |case: &Case| plan.cases.iter().any(|planned| same_but_time(&planned.case, case));
        let cases = controls.cases(&Changes::default(), place)?;
        Ok(cases.into_iter().filter(|case| is_wanted(case) && !already(case)).collect())
    }

    /// The plan for a place: what is asked for, what bounds it, and what cannot be.
    ///
    /// # Errors
    /// When a value is not one of its axis.
    pub fn plan(&self, changes: &Changes, place: &Place) -> Result<Plan> {
        let rounds = changes.rounds.unwrap_or(self.rounds);
        let seed = changes.seed.unwrap_or_else(seed_of_now);
        let mut plan = Plan::new(&self.name, rounds, self.precision, seed);
        let cases = self.cases(changes, place)?;
        let counts = |case: &Case| case.file().is_some_and(|work| work.touch == Touch::Count);
        plan.content = match self.content {
            // Of random words hardly any is 10: to count them would prove nothing.
            Kind::Random if cases.iter().any(counts) => Kind::Ints(20),
            content => content,
        };
        plan.add(cases, Role::Asked, place);
        let controls = self.controls(&plan, place)?;
        for case in controls {
            // A control that cannot be is no loss to the one who did not ask for it.
            if place.refusal(&case).is_none() {
                plan.add([case], Role::Control, place);
            }
        }
        Ok(plan)
    }
}

/// Whether two cases do the same, if not for as long.
fn same_but_time(one: &Case, other: &Case) -> bool {
    let mut one = one.clone();
    match &mut one.work {
        Work::File(work) => work.time = other.time(),
        Work::Memory(work) => work.time = other.time(),
    }
    one == *other
}

/// As many operations as there are blocks, where all are asked for: how many that is depends on
/// two other axes.
fn count_all_blocks(case: &mut Case) {
    if let Work::File(work) = &mut case.work
        && work.ops == u64::MAX
    {
        work.ops = work.blocks();
    }
}

fn seed_of_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // Small enough to be typed again.
    model::random::mix(now.map_or(0, |time| time.as_nanos() as u64)) % 1_000_000
}

impl Values {
    /// From texts, as the command line has them.
    pub fn from_texts(texts: Vec<String>) -> Values {
        Values::List(texts.into_iter().map(Value::Text).collect())
    }

    fn texts(&self) -> Vec<String> {
        let text = |value: &Value| match value {
            Value::Number(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        };
        match self {
            Values::One(value) => vec![text(value)],
            Values::List(values) => values.iter().map(text).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::peer::Peer;
    use model::zoo;

    /// Ids of the cases of the recipe `text` with `changes` given as on the command line.
    fn check(text: &str, changes: &[(&str, &str)]) -> Result<Vec<String>> {
        let mut axes = Axes::new();
        for (axis, values) in changes {
            let texts = values.split(',').map(str::to_string).collect();
            axes.insert(axis.to_string(), Values::from_texts(texts));
        }
        let changes = Changes { axes, ..Changes::default() };
        let recipe = parse(&format!("name = 'test'\nquestion = '?'\n{text}"))?;
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let place = Place { host: &host, storage: None, peers: &peers };
        Ok(recipe.cases(&changes, &place)?.iter().map(Case::id).collect())
    }

    fn error(text: &str) -> String {
        format!("{:#}", check(text, &[]).expect_err(text))
    }

    #[test]
    fn a_group_is_the_product_of_its_axes() {
        let text = "size = '1MiB'\n[axes]\nblock = '8KiB'\n
                    [[cases]]\nengine = ['read', 'mmap']\nthreads = 'sweep'";
        let ids = check(text, &[]).expect("the recipe is whole");
        let case = |engine, t| format!("{engine} warm sequential 8KiB d1 t{t} sum of 1MiB");
        let expected =
            [("read", 1), ("read", 2), ("read", 4), ("mmap", 1), ("mmap", 2), ("mmap", 4)];
        assert_eq!(ids, expected.map(|(engine, threads)| case(engine, threads)));
    }

    #[test]
    fn the_command_line_replaces_axes_of_files_only() {
        let text = "[[cases]]\nengine = ['read', 'mmap']\n[[cases]]\nkernel = 'copy'";
        let ids = check(text, &[("engine", "uring"), ("depth", "1,8"), ("threads", "2")]);
        let expected = [
            "uring warm sequential 4KiB d1 t2 sum of 1GiB",
            "uring warm sequential 4KiB d8 t2 sum of 1GiB",
            "memory copy avx2 128MiB t1",
        ];
        assert_eq!(ids.expect("the recipe is whole"), expected);
    }

    #[test]
    fn a_recipe_of_memory_takes_all_changes() {
        let text = "[[cases]]\nkernel = 'copy'\nisa = 'each'";
        let ids = check(text, &[("kernel", "read"), ("threads", "2"), ("isa", "scalar")]);
        assert_eq!(ids.expect("the recipe is whole"), ["memory read scalar 128MiB t2"]);
        let error = check(text, &[("engine", "pread")]).expect_err("it reads no file");
        assert_eq!(error.to_string(), "the recipe 'test' has no axis 'engine' to change");
    }

    #[test]
    fn peers_are_an_axis() {
        let text = "size = '1MiB'\n[[cases]]\npeer = ['rust', 'compilers']";
        let ids = check(text, &[]).expect("both are known");
        let case = "pread warm sequential 4KiB d1 t1 sum of 1MiB";
        assert_eq!(ids, [case.to_string(), format!("zebra {case}")]);
        let error = check(text, &[("peer", "gnu")]).expect_err("nobody has it").to_string();
        assert!(error.starts_with("unknown peer 'gnu'"), "{error}");
    }

    #[test]
    fn all_operations_are_as_many_as_blocks() {
        let ids = check("size = '1MiB'\n[[cases]]\nops = [10, 'all']", &[]).expect("it is whole");
        let case = |ops| format!("pread warm sequential 4KiB d1 t1 sum ops:{ops} of 1MiB");
        assert_eq!(ids, [case(10), case(256)]);
    }

    #[test]
    fn what_is_wrong_with_a_recipe_is_said() {
        for (text, expected) in [
            ("[[cases]\nengine = 1", "line 3, column"),
            ("rounds = 'x'\n[[cases]]", "line 3, column"),
            ("colour = 1\n[[cases]]", "unknown field `colour`"),
            ("[[cases]]\nengin = 'read'", "unknown axis 'engin' (did you mean 'engine'?)"),
            ("[[cases]]\nengine = 'raed'", "unknown engine 'raed' (did you mean 'read'?)"),
            ("[[cases]]\nkernel = 'read'\nblock = 1", "unknown axis 'block'"),
            ("[[cases]]\nblock = '4K'", "'4K' is ambiguous"),
            ("cases = []", "at least one [[cases]]"),
            ("rounds = 0\n[[cases]]", "one round"),
            ("content = 'zeros'\n[[cases]]", "'zeros' is no content"),
        ] {
            let error = error(text);
            assert!(error.contains(expected), "'{text}' gave '{error}'");
        }
    }

    #[test]
    fn every_built_in_recipe_has_a_plan_with_its_controls() {
        let (host, storage) = (zoo::host(), zoo::storage());
        let peers =
            ["zebra", "rust-dev"].map(|name| Peer { name: name.to_string(), ..zoo::peer() });
        let place = Place { host: &host, storage: Some(&storage), peers: &peers };
        for (name, _) in BUILT_IN {
            for recipe in [find(name), find(name).and_then(Recipe::quick)] {
                let recipe = recipe.expect("a built-in recipe is whole");
                assert_eq!(recipe.name, *name);
                let plan = recipe.plan(&Changes::default(), &place).expect("it has a plan");
                let controls = plan.cases.iter().filter(|p| p.role == Role::Control).count();
                assert!(plan.cases.len() > controls, "{name}");
                let is_null = |case: &Case| case.id().starts_with("null ");
                let has_null = plan.cases.iter().any(|planned| is_null(&planned.case));
                assert_eq!(has_null, recipe.reads_files(), "{name}");
            }
        }
    }
}
