//! Recipes: a question as a TOML file, and the plan that answers it.
//!
//! ```toml
//! name = "page-latency"
//! question = "How long does it take to read a page, warm and cold?"
//! size = "256MiB"         # test file size; a group can override it
//! invocations = 5         # restarts with new files and workers; they share the rounds
//! rounds = 10
//! time = "1s"             # maximum per trial
//! ceilings = true         # whether to measure the ceilings too
//! sustain = "1min"        # the trials of a case follow each other, for this time
//!
//! [axes]                  # for all file groups; each value may be a list
//! block = "4KiB"
//!
//! [[cases]]               # a group: the product of its axes; `op` makes it write, `kernel`
//!                         # makes it run over memory
//! engine = ["pread", "mmap"]
//! cache = ["warm", "cold"]
//!
//! [[goals]]               # what figures must be: `must`, `says`, `source`, and `of` which cases
//! must = "p99 < 1ms"
//!
//! [[aside]]               # a group that is left out once the command line changes its axes
//! ```
//! An axis on the command line replaces that axis in every file group that has it. Memory groups
//! take only axes that files lack, unless the recipe has no file groups. For symbolic values, see
//! [`crate::symbol`].

pub mod fallback;
mod actors;
mod effect;
mod baselines;
mod file;
mod jobs;
mod built_in;
pub mod hosts;
mod relative;
mod populated;
mod quick;
pub mod repetitions;

use crate::fio::ImportedJobs;
use crate::group::{self, AxisGrid};
use crate::symbol::resolve;
use anyhow::{Result, bail};
pub use built_in::{BUILT_IN, find, text, view_of};
pub use jobs::of_jobs;
use model::axis::Axis;
use model::case::{Case, Kind, Touch};
use model::content;
use model::environment::Environment;
use model::goal::Goal;
use model::plan::{CASES_MAX, Plan, Role};
use model::sweep::{self, Sweep, product};
use model::units;
use model::view::View;
pub use relative::Relative;
use relative::take_percents;
use repetitions::USUAL;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A question with its cases, as written in the file.
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
    /// Whether that is what each host moves, so that a file which several share is as many times as
    /// large.
    #[serde(default)]
    pub size_per_host: bool,
    /// The number of hosts, once it is known.
    #[serde(skip)]
    pub hosts: Option<u32>,
    /// The content of the test file.
    #[serde(default)]
    pub content: content::ContentKind,
    /// The number of rounds over all invocations: see [`repetitions::settle`].
    pub rounds: Option<u32>,
    /// The number of invocations, each with new workers and new files.
    pub invocations: Option<u32>,
    /// The maximum time of a trial.
    #[serde(default = "default_time")]
    pub time: String,
    /// A case is done when its interval is at most this wide, as a share of the median.
    #[serde(default = "default_precision")]
    pub precision: f64,
    /// Whether ceilings are measured too.
    #[serde(default = "default_ceilings")]
    pub ceilings: bool,
    /// How long each case goes on, if its trials follow each other.
    pub sustain: Option<String>,
    /// Whether threads of pread measure what io_uring was to measure, where the OS refuses it.
    #[serde(default)]
    pub fallback: bool,
    /// The presentation.
    #[serde(default)]
    pub view: View,
    /// What its figures must be, for an application.
    #[serde(default)]
    pub goals: Vec<Goal>,
    /// Axes of all file groups.
    #[serde(default)]
    pub axes: AxisGrid,
    /// What runs beside the cases that name it.
    #[serde(default)]
    pub actors: BTreeMap<String, AxisGrid>,
    /// Groups of cases.
    pub cases: Vec<AxisGrid>,
    /// Groups of the same kinds that are left out if the command line changes an axis that they
    /// name: then it asks another question.
    #[serde(default)]
    pub aside: Vec<AxisGrid>,
    /// fio's job file that it was made from.
    #[serde(skip)]
    pub imported: Option<ImportedJobs>,
}

fn default_size() -> String {
    "1GiB".to_string()
}

fn default_time() -> String {
    "1s".to_string()
}

fn default_ceilings() -> bool {
    true
}

fn default_precision() -> f64 {
    0.025
}

/// The options of the command line that override the recipe.
#[derive(Debug, Clone, Default)]
pub struct Changes {
    /// Axes.
    pub axes: AxisGrid,
    /// Rounds.
    pub rounds: Option<u32>,
    /// Invocations.
    pub invocations: Option<u32>,
    /// The seed; by default, one from the clock.
    pub seed: Option<u64>,
    /// Whether ceilings are skipped.
    pub no_ceilings: bool,
    /// Whether the file is a user's own.
    pub is_own_file: bool,
    /// The cases of [`Recipe::relatives`], at rates that were found for them.
    pub loads: Vec<Case>,
}

/// Parses a recipe.
///
/// # Errors
/// If it is invalid, or requests something impossible.
pub fn parse(text: &str) -> Result<Recipe> {
    let recipe: Recipe = toml::from_str(text)?;
    let names = |kind: Kind| Axis::all_of(kind).map(|axis| axis.name);
    for group in recipe.cases.iter().chain(&recipe.aside) {
        group::check_axes(group, &names(group::kind(group)).collect::<Vec<_>>())?;
    }
    // File axes may apply to reading, writing and names.
    let of_files = names(Kind::Read).chain(names(Kind::Write)).chain(names(Kind::Metadata));
    group::check_axes(&recipe.axes, &of_files.collect::<Vec<_>>())?;
    actors::check(&recipe)?;
    check_goals(&recipe.goals)?;
    report::check_columns(&recipe.view)?;
    if recipe.cases.is_empty() || recipe.rounds == Some(0) || recipe.invocations == Some(0) {
        bail!("a recipe needs at least one [[cases]], one round and one invocation");
    }
    repetitions::settle(recipe.rounds, recipe.invocations, USUAL)?;
    Ok(recipe)
}

/// Refuses goals whose cases are chosen by what is no axis.
fn check_goals(goals: &[Goal]) -> Result<()> {
    for name in goals.iter().flat_map(|goal| goal.of.keys()) {
        if Axis::named(name).is_none() {
            let known: Vec<&str> = Axis::settable().map(|axis| axis.name).collect();
            bail!(units::unknown_name("axis of a goal", name, &known));
        }
    }
    Ok(())
}

impl Recipe {
    /// Whether any group reads or writes a file.
    pub fn uses_files(&self) -> bool {
        let kinds = || self.cases.iter().map(group::kind);
        kinds().any(|kind| matches!(kind, Kind::Read | Kind::Write))
    }

    /// Whether any group uses a directory: files, or names in it.
    pub fn uses_storage(&self) -> bool {
        self.cases.iter().any(|group| group::kind(group) != Kind::Memory)
    }

    /// The requested cases, with the changes from the command line.
    ///
    /// # Errors
    /// If a value is invalid for its axis, or no group has a changed axis.
    pub fn cases(&self, changes: &Changes, environment: &Environment) -> Result<Vec<Case>> {
        for (axis, values) in &changes.axes {
            if !self.cases.iter().any(|group| self.takes(group, axis)) {
                bail!("the recipe '{}' has no axis '{axis}' to change", self.name);
            }
            let Some(axis) = Axis::named(axis) else { continue };
            let kinds = || self.cases.iter().map(group::kind);
            let is_known = |text: &String| kinds().any(|kind| takes_value(axis, kind, text));
            if let Some(unknown) = values.texts().iter().find(|text| !is_known(text)) {
                let mut known = axis.known();
                known.retain(|name| kinds().any(|kind| takes_value(axis, kind, name)));
                bail!(units::unknown_name(axis.name, unknown, &known));
            }
        }
        let mut cases = Vec::new();
        for mut sweep in self.sweeps(changes, environment)? {
            take_percents(&mut sweep)?;
            let mut group = product(&sweep)?;
            group.iter_mut().for_each(|case| self.settle_size(case));
            cases.extend(group);
        }
        Ok(cases)
    }

    /// The cases with rates that are shares of what a closed loop does; it must be measured first.
    ///
    /// # Errors
    /// As for [`Recipe::cases`].
    pub fn relatives(&self, changes: &Changes, environment: &Environment) -> Result<Vec<Relative>> {
        let complete = |case: &mut Case| self.complete(case, changes, environment);
        let mut all = Vec::new();
        for sweep in self.sweeps(changes, environment)? {
            all.extend(Relative::all_of(sweep, complete)?);
        }
        Ok(all)
    }

    /// Makes a case of a sweep the one that is measured.
    fn complete(&self, case: &mut Case, changes: &Changes, environment: &Environment) {
        self.settle_size(case);
        if self.falls_back(changes) {
            fallback::replace(std::slice::from_mut(case), environment.host);
        }
    }

    /// Whether threads of pread measure what io_uring cannot. An engine on the command line is what
    /// the user wants to know about.
    fn falls_back(&self, changes: &Changes) -> bool {
        self.fallback && !changes.axes.contains_key("engine")
    }

    fn sweeps(&self, changes: &Changes, environment: &Environment) -> Result<Vec<Sweep>> {
        let is_kept = |group: &&AxisGrid| !group.keys().any(|it| changes.axes.contains_key(it));
        let groups = self.cases.iter().chain(self.aside.iter().filter(is_kept));
        let sweeps = groups.map(|group| self.sweep(group, changes, environment));
        let mut sweeps = sweeps.collect::<Result<Vec<Sweep>>>()?;
        let complete = |case: &mut Case| self.complete(case, changes, environment);
        populated::settle(&mut sweeps, changes, environment, &complete);
        let count = sweeps.iter().map(sweep::count).fold(0, u128::saturating_add);
        self.check_count(count)?;
        Ok(sweeps)
    }

    /// Rejects too many cases before they are created.
    fn check_count(&self, count: u128) -> Result<()> {
        if count > CASES_MAX as u128 {
            bail!(
                "the recipe '{}' makes {count} cases, one for each combination of values: the \
                 maximum is {CASES_MAX}; give an axis fewer values",
                self.name
            );
        }
        Ok(())
    }

    /// Whether a change of `axis` applies to `group`. A ladder has separate threads for memory and
    /// for files: such a change applies to files, unless there are none.
    fn takes(&self, group: &AxisGrid, axis: &str) -> bool {
        let kind = group::kind(group);
        let has = |kind| Axis::named(axis).is_some_and(|axis| axis.is_of(kind));
        let of_files = has(Kind::Read) || has(Kind::Write);
        has(kind) && (kind != Kind::Memory || !of_files || !self.uses_files())
    }

    /// The values of each axis of a group: from the command line, else the group, else the recipe,
    /// else the default. The command line may mix engines for reading and writing: a group takes
    /// those that fit, if any.
    fn sweep(
        &self,
        group: &AxisGrid,
        changes: &Changes,
        environment: &Environment,
    ) -> Result<Sweep> {
        let kind = group::kind(group);
        let of_file = kind != Kind::Memory;
        let changed = |axis: &Axis| -> Option<Vec<String>> {
            let given = changes.axes.get(axis.name).filter(|_| self.takes(group, axis.name))?;
            let mut texts = given.texts();
            texts.retain(|text| takes_value(axis, kind, text));
            (!texts.is_empty()).then_some(texts)
        };
        let pick = |axis: &Axis| -> Vec<String> {
            let recipe_wide = self.axes.get(axis.name).filter(|_| of_file);
            match (changed(axis), group.get(axis.name).or(recipe_wide)) {
                (Some(texts), _) => texts,
                (None, Some(values)) => values.texts(),
                (None, None) if of_file && axis.name == "size" => vec![self.size.clone()],
                (None, None) if of_file && axis.name == "time" => vec![self.time.clone()],
                (None, None) => axis.usual.of(kind).map(str::to_string).into_iter().collect(),
            }
        };
        let mut sweep = Sweep::new();
        for axis in Axis::all_of(kind) {
            let mut values = Vec::new();
            for text in pick(axis) {
                values.extend(resolve(axis.name, axis.spelled(&text), environment)?);
            }
            sweep.push((axis.name.to_string(), values));
        }
        Ok(sweep)
    }

    /// The plan for a place: requested cases, baselines and skips.
    ///
    /// # Errors
    /// If a value is invalid for its axis.
    pub fn plan(&self, changes: &Changes, environment: &Environment) -> Result<Plan> {
        let usual = repetitions::settle(self.rounds, self.invocations, USUAL)?;
        let (rounds, invocations) =
            repetitions::settle(changes.rounds, changes.invocations, usual)?;
        let seed = changes.seed.unwrap_or_else(seed_of_now);
        let mut plan = Plan::new(&self.name, rounds, self.precision, seed);
        plan.invocations = invocations;
        plan.view = Some(self.view.clone());
        plan.goals = self.goals.clone();
        let mut cases = self.cases(changes, environment)?;
        let loads = self.relatives(changes, environment)?;
        effect::check_offsets(changes, &cases)?;
        let open = loads.iter().map(|load| load.at(1)).chain(changes.loads.iter().cloned());
        effect::check(&changes.axes, &cases.iter().cloned().chain(open).collect::<Vec<Case>>())?;
        if self.falls_back(changes) {
            plan.skips = fallback::replace(&mut cases, environment.host);
            plan.skips.extend(fallback::leave_out(&mut cases, environment.host));
        }
        cases.extend(changes.loads.iter().cloned());
        actors::add(self, &mut plan, &mut cases, changes, environment)?;
        let counts = |case: &Case| case.read().is_some_and(|work| work.touch == Touch::Count);
        plan.content = match self.content {
            // Random words almost never contain a 10, so counting them would prove nothing.
            content::ContentKind::Random if cases.iter().any(counts) => {
                content::ContentKind::Ints(20)
            }
            content => content,
        };
        plan.add(cases, Role::Asked, environment);
        if self.ceilings && !changes.no_ceilings {
            let mut baselines = baselines::of(&plan, environment)?;
            // An impossible control was not requested, so it is no skip.
            baselines.retain(|case| environment.refusal(case).is_none());
            plan.add(baselines, Role::Baseline, environment);
        }
        // Baselines may exceed the maximum.
        self.check_count((plan.cases.len() + plan.skips.len()) as u128)?;
        Ok(plan)
    }
}

/// Whether a group of this kind takes the value. Engines differ between reading and writing, so
/// each group takes its own from the command line. Other invalid values are rejected when a case is
/// created.
fn takes_value(axis: &Axis, kind: Kind, text: &str) -> bool {
    if axis.differs_by_kind() {
        return axis.names(kind).contains(&axis.spelled(text));
    }
    // An axis of numbers has no names. What only older records have is no choice.
    let is_of_names = Kind::ALL.iter().any(|kind| !axis.names(*kind).is_empty());
    !is_of_names || axis.known().contains(&axis.spelled(text))
}

/// A seed from the clock.
pub fn seed_of_now() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    // Short enough to type again.
    model::random::mix(now.map_or(0, |time| time.as_nanos() as u64)) % 1_000_000
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::peer::Peer;
    use model::zoo;

    /// The case ids of the recipe `text` with command line `changes`.
    fn check(text: &str, changes: &[(&str, &str)]) -> Result<Vec<String>> {
        let mut axes = AxisGrid::new();
        for (axis, values) in changes {
            let texts = values.split(',').map(str::to_string).collect();
            axes.insert(axis.to_string(), group::ValueList::from_texts(texts));
        }
        let changes = Changes { axes, ..Changes::default() };
        let recipe = parse(&format!("name = 'test'\nquestion = '?'\n{text}"))?;
        let (host, peers) = (zoo::host(), [zoo::peer()]);
        let environment = Environment { host: &host, storage: None, source: None, peers: &peers };
        Ok(recipe.cases(&changes, &environment)?.iter().map(Case::id).collect())
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
            "memory copy auto 128MiB t1",
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
    fn what_is_aside_is_left_out_once_its_axes_change() {
        let text = "size = '1MiB'\n[[cases]]\n[[aside]]\nengine = 'mmap'\nthreads = 2";
        let (read, map) = ("pread warm sequential", "mmap warm sequential");
        let case = |way: &str, block| format!("{way} {block} d1 t1 sum of 1MiB");
        let aside = |block| case(map, block).replace("t1", "t2");
        let check = |changes: &[(&str, &str)]| check(text, changes).expect("it is whole");
        assert_eq!(check(&[]), [case(read, "4KiB"), aside("4KiB")]);
        assert_eq!(check(&[("block", "8k")]), [case(read, "8KiB"), aside("8KiB")]);
        assert_eq!(check(&[("engine", "mmap")]), [case(map, "4KiB")]);
        assert_eq!(check(&[("threads", "1"), ("block", "8k")]), [case(read, "8KiB")]);
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
    fn what_only_older_records_have_cannot_be_asked_for() {
        let text = "size = '1MiB'\n[[cases]]\nengine = 'pread'\nblock = '4KiB'";
        for (axis, value) in [("pages", "fitting"), ("populated", "unknown")] {
            let error = check(text, &[(axis, value)]).unwrap_err().to_string();
            assert!(error.contains(value) && !error.contains(&format!(", {value}")), "{error}");
        }
        assert!(check(text, &[("pages", "huge")]).is_ok());
    }

    #[test]
    fn more_cases_than_can_be_planned_are_refused_before_they_are_made() {
        let list = |values: usize| format!("[{}]", vec!["1"; values].join(", "));
        let axes = ["pattern", "block", "depth", "threads", "stride", "ops", "share", "touch"];
        let axes = axes.map(|axis| format!("{axis} = {}\n", list(256))).concat();
        let error = error(&format!("[[cases]]\n{axes}"));
        assert!(error.contains("makes 18446744073709551616 cases"), "{error}");
        assert!(error.contains("the maximum is 20000; give an axis fewer values"), "{error}");
        let lists = [("depth", list(10)), ("threads", list(10)), ("stride", list(10))];
        let axes = lists.map(|(axis, list)| format!("{axis} = {list}\n")).concat();
        let ids = check(&format!("[[cases]]\n{axes}"), &[]).expect("a thousand are few");
        assert_eq!(ids.len(), 1000);
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
            ("[[cases]]\nblock = '4X'", "'4X' is not a size"),
            ("cases = []", "at least one [[cases]]"),
            ("rounds = 0\n[[cases]]", "one round"),
            ("content = 'zeros'\n[[cases]]", "'zeros' is not a kind of content"),
            (
                "[[cases]]\ntime = '18446744073709551615.5s 0.5s'",
                "too large: the maximum is 30days",
            ),
            ("[[cases]]\nkernel = 'read'\nworking_set = '16777215TiB'", "too large: the maximum"),
            ("rounds = 1001\n[[cases]]", "1001 rounds are more than the maximum of 1000"),
            ("invocations = 4294967295\n[[cases]]", "invocations are more than the maximum of 100"),
            ("[[cases]]\nrate = ['0%']", "'0%' is not a share of what a closed loop does"),
            ("[[cases]]\nrate = ['1001%']", "a whole number from 1% to 1000%"),
            ("[[cases]]\nrate = ['1.5%']", "'1.5%' is not a share"),
        ] {
            let error = error(text);
            assert!(error.contains(expected), "'{text}' gave '{error}'");
        }
    }

    #[test]
    fn rates_in_percent_wait_for_their_closed_loop() {
        let text = "[[cases]]\nrate = ['50%', '110%', '2k']\narrival = 'even'\nops = 'all'";
        let ids = check(text, &[]).expect("it is whole");
        let case = |rate| format!("pread warm sequential 4KiB d1 t1{rate} sum ops:262144 of 1GiB");
        assert_eq!(ids, [case(""), case(" rate:2000 even")]);
        let (host, storage) = (zoo::host(), zoo::storage());
        let environment =
            Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
        let recipe = parse(&format!("name = 'x'\nquestion = 'x'\n{text}")).expect("it is whole");
        let loads = recipe.relatives(&Changes::default(), &environment).expect("they are valid");
        assert_eq!(loads.len(), 1);
        assert_eq!(loads[0].percents, [50, 110]);
        assert_eq!(loads[0].closed().id(), case(""));
        assert_eq!(loads[0].at(300).id(), case(" rate:300 even"));
    }

    #[test]
    fn a_device_is_read_in_the_pages_of_what_it_bounds() {
        let ceilings_on = |host: model::host::Host, cache: &str, pages: &str| {
            let text = format!(
                "name = 'x'\nquestion = 'x'\n[[cases]]\nengine = 'pread'\nblock = '4KiB'\n\
                 cache = {cache}\npages = {pages}"
            );
            let storage = zoo::storage();
            let environment =
                Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
            let recipe = parse(&text).expect("it is whole");
            let plan = recipe.plan(&Changes::default(), &environment).expect("it has a plan");
            let ids = plan.cases.iter().map(|planned| planned.case.id());
            ids.filter(|id| id.contains("uring direct ")).collect::<Vec<_>>()
        };
        let with = |huge_pages: &str| {
            let mut host = zoo::host();
            host.setup.huge_pages = Some(huge_pages.to_string());
            host
        };
        let ceilings = |cache, pages| ceilings_on(with("madvise"), cache, pages);
        let id = |pages| format!("uring direct sequential 1MiB d8 {pages}t1 sum of 1GiB");
        assert_eq!(ceilings("'direct'", "'base'"), [id("")]);
        assert_eq!(ceilings("'direct'", "'huge'"), [id("pages:huge ")]);
        assert_eq!(ceilings("'direct'", "['huge', 'base']"), [id(""), id("pages:huge ")]);
        assert_eq!(ceilings("'cold'", "'base'"), [id("pages:huge ")]);
        assert_eq!(ceilings("['cold', 'direct']", "'base'"), [id(""), id("pages:huge ")]);
        assert_eq!(ceilings_on(with("never"), "'cold'", "'base'"), [id("")]);
    }

    #[test]
    fn every_built_in_recipe_has_a_plan_with_its_controls() {
        let (host, storage) = (zoo::host(), zoo::storage());
        let peers = ["zebra", "dd"].map(|name| Peer { name: name.to_string(), ..zoo::peer() });
        let environment =
            Environment { host: &host, storage: Some(&storage), source: None, peers: &peers };
        for (name, _) in BUILT_IN {
            for recipe in [find(name), find(name).and_then(Recipe::quick)] {
                let recipe = recipe.expect("a built-in recipe is whole");
                assert_eq!(recipe.name, *name);
                let plan = recipe.plan(&Changes::default(), &environment).expect("it has a plan");
                let baselines = plan.cases.iter().filter(|p| p.role == Role::Baseline).count();
                assert!(plan.cases.len() > baselines, "{name}");
                let is_null = |case: &Case| case.id().contains("null ");
                let has_null = plan.cases.iter().any(|planned| is_null(&planned.case));
                // Several hosts are held against one, not against what bounds each, and nothing
                // bounds a call on a name. Applications have goals, or their ways are compared.
                let of_applications =
                    ["etcd", "postgres", "sqlite", "kafka", "vm-image", "checkpoint", "model-load"];
                let has_none =
                    ["cluster", "metadata"].contains(name) || of_applications.contains(name);
                assert_eq!(recipe.ceilings, !has_none, "{name}");
                assert_eq!(has_null, recipe.ceilings && recipe.uses_files(), "{name}");
                let changes = Changes { no_ceilings: true, ..Changes::default() };
                let plan = recipe.plan(&changes, &environment).expect("it has a plan");
                assert!(plan.cases.iter().all(|p| p.role == Role::Asked), "{name}");
            }
        }
    }
}
