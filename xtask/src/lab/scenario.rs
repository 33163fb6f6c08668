//! The table of machines, with their mounts and the expected reports.

use crate::json::{asked, list, text};
use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::Write;

/// The table's text.
const TABLE: &str = include_str!("scenarios.toml");

/// The table.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScenarioTable {
    machine: Vec<Machine>,
}

/// A machine. Its scenarios run in it one after another.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Machine {
    /// The name of its kernel in [`super::kernel`].
    pub(super) kernel: String,
    /// QEMU's name for its processor.
    #[serde(default = "usual_cpu")]
    pub(super) cpu: String,
    /// Number of processors.
    #[serde(default = "usual_processors")]
    pub(super) processors: u32,
    /// Size of its memory in MiB.
    #[serde(default = "usual_memory")]
    pub(super) memory: u32,
    /// Sizes of its disks in MiB. QEMU's devices refer to them as `disk0`, `disk1` …
    #[serde(default)]
    pub(super) disks: Vec<u32>,
    /// Values of QEMU's `-device` arguments.
    #[serde(default)]
    pub(super) devices: Vec<String>,
    /// Other QEMU arguments, one word each. `share` is an empty folder of the host.
    #[serde(default)]
    pub(super) qemu: Vec<String>,
    /// A program on the host that serves the machine through the socket `helper.sock`; `{folder}`
    /// stands for the folder of both.
    #[serde(default)]
    pub(super) helper: Vec<String>,
    /// Additions to the kernel command line.
    #[serde(default)]
    pub(super) append: String,
    /// Kernel modules, in load order.
    #[serde(default)]
    pub(super) modules: Vec<String>,
    pub(super) scenario: Vec<Scenario>,
}

/// A measurement in a machine, and the expected report.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    /// Its name, also that of its folder.
    pub(super) name: String,
    /// Its purpose, in one line.
    pub(super) about: String,
    /// Whether the test command runs it.
    #[serde(default)]
    pub(super) quick: bool,
    /// Shell commands that mount `/data`, the directory to measure. The program then runs in the
    /// same shell.
    pub(super) prepare: String,
    /// The command to run instead of the usual recipe.
    #[serde(default = "usual_run")]
    pub(super) run: String,
    /// The expected exit status.
    #[serde(default)]
    pub(super) status: u8,
    /// Expected JSON values, by pointer.
    #[serde(default)]
    pub(super) facts: BTreeMap<String, Value>,
    /// Maximum JSON numbers, by pointer.
    #[serde(default)]
    pub(super) at_most: BTreeMap<String, u64>,
    /// Minimum JSON numbers, by pointer.
    #[serde(default)]
    pub(super) at_least: BTreeMap<String, u64>,
    /// Expected JSON values, by pointer, each with a shell command that prints it in the machine:
    /// what another tool says of the same fact.
    #[serde(default)]
    pub(super) tools: BTreeMap<String, String>,
    /// Pointers to JSON values that must be missing or null.
    #[serde(default)]
    pub(super) unknown: Vec<String>,
    /// What a survey must answer here after the usual run: each time one of these texts, in the
    /// line that says what bounds the disk, or why that is unknown. None: no survey runs.
    #[serde(default)]
    pub(super) bottleneck: Vec<String>,
    /// Whether the survey also runs in the test command.
    #[serde(default)]
    pub(super) quick_survey: bool,
    /// Texts that the program must print to standard error.
    #[serde(default)]
    pub(super) says: Vec<String>,
    /// Expectations for cases.
    #[serde(default)]
    pub(super) cases: Vec<Expected>,
}

/// Expectations for all requested cases whose ids contain a text.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    /// The text; empty for all cases.
    id: String,
    /// The expected server of the bytes.
    served_by: Option<String>,
    /// The expected verdict.
    verdict: Option<String>,
    /// Findings that they must have.
    #[serde(default)]
    has: Vec<String>,
    /// Findings that they must not have.
    #[serde(default)]
    lacks: Vec<String>,
}

fn usual_cpu() -> String {
    "max".to_owned()
}

fn usual_processors() -> u32 {
    2
}

fn usual_memory() -> u32 {
    1024
}

fn usual_run() -> String {
    "run /lab/small.toml .".to_owned()
}

/// The machines of the table.
pub(super) fn machines() -> Result<Vec<Machine>> {
    let table: ScenarioTable = toml::from_str(TABLE).context("the table of scenarios")?;
    Ok(table.machine)
}

/// The names of all scenarios of `machines`, in order.
pub(super) fn names(machines: &[Machine]) -> Vec<&str> {
    let all = machines.iter().flat_map(|machine| &machine.scenario);
    all.map(|scenario| scenario.name.as_str()).collect()
}

/// The machines with their scenarios that satisfy `is_chosen`; machines without any are dropped.
pub(super) fn choose(machines: &[Machine], is_chosen: impl Fn(&Scenario) -> bool) -> Vec<Machine> {
    let chosen = machines.iter().map(|machine| {
        let scenario = machine.scenario.iter().filter(|one| is_chosen(one)).cloned().collect();
        Machine { scenario, ..machine.clone() }
    });
    chosen.filter(|machine| !machine.scenario.is_empty()).collect()
}

/// What came of a scenario.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ScenarioResult {
    /// The number of assertions.
    pub(super) asserted: usize,
    /// Those that failed.
    pub(super) wrong: Vec<String>,
}

impl ScenarioResult {
    /// Records an assertion.
    pub(super) fn hold(&mut self, is_right: bool, wrong: impl FnOnce() -> String) {
        self.asserted += 1;
        if !is_right {
            self.wrong.push(wrong());
        }
    }
}

impl Scenario {
    /// Compares a report and the error output with the expectations.
    pub(super) fn check(&self, report: &Value, errors: &str) -> ScenarioResult {
        let mut checked = ScenarioResult::default();
        for (pointer, expected) in &self.facts {
            let found = report.pointer(pointer).unwrap_or(&Value::Null);
            checked.hold(found == expected, || format!("{pointer} is {found}, not {expected}"));
        }
        for (pointer, most) in &self.at_most {
            let found = report.pointer(pointer).unwrap_or(&Value::Null);
            let is_right = found.as_u64().is_some_and(|found| found <= *most);
            checked.hold(is_right, || format!("{pointer} is {found}, not {most} at most"));
        }
        for (pointer, least) in &self.at_least {
            let found = report.pointer(pointer).unwrap_or(&Value::Null);
            let is_right = found.as_u64().is_some_and(|found| found >= *least);
            checked.hold(is_right, || format!("{pointer} is {found}, not {least} at least"));
        }
        for pointer in &self.unknown {
            let found = report.pointer(pointer).unwrap_or(&Value::Null);
            checked.hold(found.is_null(), || format!("{pointer} is {found}, not unknown"));
        }
        for said in &self.says {
            checked.hold(errors.contains(said), || format!("'{said}' is not printed: {errors}"));
        }
        for expected in &self.cases {
            let found = asked(report).filter(|case| text(&case["id"]).contains(&expected.id));
            let found: Vec<&Value> = found.collect();
            checked.hold(!found.is_empty(), || format!("no case has '{}' in its id", expected.id));
            found.into_iter().for_each(|case| expected.check(case, &mut checked));
        }
        checked
    }

    /// Compares what a survey printed with the expectation.
    pub(super) fn check_survey(&self, printed: &str, checked: &mut ScenarioResult) {
        if self.bottleneck.is_empty() {
            return;
        }
        let said = bottleneck(printed);
        let is_right = said.is_some_and(|said| self.bottleneck.iter().any(|it| said.contains(it)));
        checked.hold(is_right, || {
            let said = said.unwrap_or("nothing about it");
            format!("the survey says {said}, and none of {:?}", self.bottleneck)
        });
    }

    /// Compares a report with what other tools printed, in the order of their pointers.
    pub(super) fn check_tools(
        &self,
        report: &Value,
        said: &[String],
        checked: &mut ScenarioResult,
    ) {
        for ((pointer, command), said) in self.tools.iter().zip(said) {
            let found = report.pointer(pointer).unwrap_or(&Value::Null);
            let words = found.as_str().map_or_else(|| found.to_string(), str::to_owned);
            let said = said.trim();
            checked.hold(!said.is_empty() && words.trim() == said, || {
                format!("{pointer} is {found}, but '{said}' by: {command}")
            });
        }
    }

    /// The assertions as text.
    pub(super) fn asserts(&self) -> String {
        let status = (self.status != 0).then(|| format!("exit status {}", self.status));
        let facts = self.facts.iter().map(|(pointer, value)| format!("`{pointer}` is {value}"));
        let most = self.at_most.iter();
        let most = most.map(|(pointer, most)| format!("`{pointer}` is {most} at most"));
        let least = self.at_least.iter();
        let least = least.map(|(pointer, least)| format!("`{pointer}` is {least} at least"));
        let unknown = self.unknown.iter().map(|pointer| format!("`{pointer}` is unknown"));
        let bottleneck = (!self.bottleneck.is_empty())
            .then(|| format!("survey: '{}'", self.bottleneck.join("' or '")));
        let says = self.says.iter().map(|text| format!("says '{text}'"));
        let cases = self.cases.iter().map(Expected::words);
        let program = |command: &str| command.split(' ').next().unwrap_or_default().to_owned();
        let tools = self.tools.iter();
        let tools = tools.map(|(at, command)| format!("`{at}` as {} says", program(command)));
        let all = status.into_iter().chain(facts).chain(most).chain(least).chain(unknown);
        let all = all.chain(tools).chain(bottleneck);
        let all = all.chain(says).chain(cases);
        all.collect::<Vec<String>>().join("; ")
    }
}

/// The line of a survey that says what bounds the disk or, if no device served a row, what is known
/// of the disk.
fn bottleneck(printed: &str) -> Option<&str> {
    let with = |label: &str| printed.lines().find(|line| line.starts_with(label));
    with("What bounds the disk: ").or_else(|| with("Disk: "))
}

impl Expected {
    fn check(&self, case: &Value, checked: &mut ScenarioResult) {
        for (key, expected) in [("served_by", &self.served_by), ("verdict", &self.verdict)] {
            let Some(expected) = expected else { continue };
            let is_right = case[key] == expected.as_str();
            checked.hold(is_right, || told(case, &format!("{key} is not {expected}")));
        }
        let codes = list(&case["findings"]).iter().map(|found| text(&found["code"]));
        let codes: Vec<&str> = codes.collect();
        for code in &self.has {
            let is_right = codes.contains(&code.as_str());
            checked.hold(is_right, || told(case, &format!("{code} is missing")));
        }
        for code in &self.lacks {
            let is_right = !codes.contains(&code.as_str());
            checked.hold(is_right, || told(case, &format!("{code} is present")));
        }
    }

    fn words(&self) -> String {
        let mut words = match self.id.as_str() {
            "" => "all cases:".to_owned(),
            id => format!("cases of '{id}':"),
        };
        for word in [&self.served_by, &self.verdict].into_iter().flatten().chain(&self.has) {
            let _ = write!(words, " {word}");
        }
        for code in &self.lacks {
            let _ = write!(words, " not {code}");
        }
        words
    }
}

/// Describes a case and all its findings.
fn told(case: &Value, wrong: &str) -> String {
    let findings = list(&case["findings"]).iter();
    let findings = findings.map(|found| format!("{}: {}", found["code"], found["message"]));
    format!(
        "{}: {wrong} (served by {}, {}, {} {})",
        text(&case["id"]),
        case["served_by"],
        case["verdict"],
        findings.collect::<Vec<String>>().join("; "),
        case["failures"]
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_table_is_whole_and_asserts_something_everywhere() {
        let machines = machines().expect("it can be read");
        let all: Vec<&Scenario> = machines.iter().flat_map(|machine| &machine.scenario).collect();
        let mut names: Vec<&str> = all.iter().map(|one| one.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all.len(), "two scenarios have one name");
        for machine in &machines {
            let kernel = &machine.kernel;
            assert!(super::super::kernel::named(kernel).is_some(), "no kernel is called {kernel}");
        }
        for one in &all {
            assert!(!one.asserts().is_empty(), "{} asserts nothing", one.name);
        }
        let quick = all.iter().filter(|one| one.quick).count();
        assert!(quick * 3 >= all.len(), "{quick} of {} are quick: a third must be", all.len());
    }

    #[test]
    fn a_machine_without_a_chosen_scenario_does_not_boot() {
        let machines: ScenarioTable = toml::from_str(
            "[[machine]]\nkernel = \"6.1\"\n\
             [[machine.scenario]]\nname = \"a\"\nabout = \"\"\nprepare = \"\"\n\
             [[machine.scenario]]\nname = \"b\"\nabout = \"\"\nprepare = \"\"\nquick = true\n\
             [[machine]]\nkernel = \"6.12\"\n\
             [[machine.scenario]]\nname = \"c\"\nabout = \"\"\nprepare = \"\"\n",
        )
        .expect("it is whole");
        let chosen = choose(&machines.machine, |one| one.quick);
        assert_eq!((chosen.len(), names(&chosen)), (1, vec!["b"]));
    }

    #[test]
    fn what_is_not_as_it_must_be_is_told() {
        let scenario: Scenario = toml::from_str(
            "name = \"x\"\nabout = \"y\"\nprepare = \"\"\nunknown = [\"/storage/size\"]\n\
             says = [\"memory\"]\nat_most = { \"/host/memory\" = 100 }\n\
             at_least = { \"/host/memory\" = 99 }\n\
             [facts]\n\"/storage/medium\" = \"block\"\n\
             [[cases]]\nid = \"direct\"\nserved_by = \"device\"\nhas = [\"A\"]\nlacks = [\"B\"]\n",
        )
        .expect("it is whole");
        let report = |by: &str, codes: &[&str]| {
            let findings: Vec<Value> = codes.iter().map(|code| json!({ "code": code })).collect();
            let case = json!({
                "id": "pread direct", "role": "asked", "served_by": by, "findings": findings
            });
            json!({
                "storage": { "medium": "block", "size": null },
                "host": { "memory": 100 },
                "cases": [case],
            })
        };
        let check = |report: Value| scenario.check(&report, "too little memory");
        assert_eq!(check(report("device", &["A"])).wrong, [""; 0]);
        assert_eq!(check(report("device", &["A"])).asserted, 9);
        assert_eq!(check(report("ram", &["B"])).wrong.len(), 3);
        assert_eq!(check(json!({})).wrong.len(), 4, "what is unknown is not at most anything");
        assert_eq!(check(json!({ "storage": { "size": 0 } })).wrong.len(), 5);
        assert_eq!(check(json!({ "host": { "memory": 101 } })).wrong.len(), 3);
        assert_eq!(check(json!({ "host": { "memory": 98 } })).wrong.len(), 3);
        assert_eq!(scenario.check(&report("device", &["A"]), "").wrong.len(), 1);
    }

    #[test]
    fn a_survey_that_answers_something_else_is_told() {
        let of = |texts: &str| -> Scenario {
            let start = "name = \"x\"\nabout = \"y\"\nprepare = \"\"\nbottleneck = ";
            toml::from_str(&format!("{start}{texts}")).expect("it is whole")
        };
        let check = |scenario: &Scenario, printed: &str| {
            let mut checked = ScenarioResult::default();
            scenario.check_survey(printed, &mut checked);
            (checked.asserted, checked.wrong.len())
        };
        let scenario = of("[\"its link\", \"not visible\"]");
        let bound = "Disk, random 4KiB: not visible\nWhat bounds the disk: its link, USB.\n";
        assert_eq!(check(&scenario, bound), (1, 0));
        assert_eq!(check(&scenario, "Disk: unknown, because it is not visible.\n"), (1, 0));
        let other = "Disk: not visible\nWhat bounds the disk: the CPU; its links\n";
        assert_eq!(check(&of("[\"not visible\"]"), other), (1, 1), "the first line answers");
        assert_eq!(check(&scenario, ""), (1, 1), "a survey that fails answers nothing");
        assert_eq!(check(&of("[]"), ""), (0, 0));
        assert_eq!(scenario.asserts(), "survey: 'its link' or 'not visible'");
    }

    #[test]
    fn a_fact_that_another_tool_denies_is_told() {
        let scenario: Scenario = toml::from_str(
            "name = \"x\"\nabout = \"y\"\nprepare = \"\"\n\
             [tools]\n\"/driver\" = \"lsusb -t | tail -1\"\n\"/speed\" = \"cat speed\"\n",
        )
        .expect("it is whole");
        let wrong = |driver: &str, speed: &str| {
            let mut checked = ScenarioResult::default();
            let said = [driver, speed].map(str::to_owned);
            let report = json!({ "driver": "uas", "speed": 5000 });
            scenario.check_tools(&report, &said, &mut checked);
            assert_eq!(checked.asserted, 2);
            checked.wrong.len()
        };
        assert_eq!(wrong("uas\n", "5000\n"), 0);
        assert_eq!(wrong("usb-storage\n", "5000\n"), 1);
        assert_eq!(wrong("", ""), 2, "a tool that says nothing agrees with nothing");
        assert_eq!(scenario.asserts(), "`/driver` as lsusb says; `/speed` as cat says");
    }
}
