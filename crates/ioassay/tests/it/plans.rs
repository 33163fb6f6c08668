//! Plans: recipes, the cases of a run, and skips with their reasons.

use crate::sandbox::{PROGRAM, Sandbox, argument, text};
use ioassay::group::ValueList;
use ioassay::recipe::{self, Changes};
use model::environment::Environment;
use model::zoo;
use std::collections::HashSet;

/// Lists know the terminal's width as tables do.
#[test]
fn lists_fit_into_narrow_terminals() {
    let sandbox = Sandbox::new();
    let lists = ["", "recipes", "explain", "explain AboveCeiling", "explain Foreign", "peers list"];
    for words in lists {
        let mut command = sandbox.start(PROGRAM);
        let output = command.args(words.split_whitespace()).env("COLUMNS", "60").output().unwrap();
        let said = text(&output.stdout);
        for line in said.lines().filter(|line| line.chars().count() > 60) {
            // Words without a space, such as a compiler's flags, cannot be broken.
            assert!(!line.trim().contains(' '), "'{words}' prints '{line}'");
        }
        assert!(said.lines().count() > 5, "{said}");
    }
}

#[test]
fn recipes_are_listed_with_their_questions_and_shown_as_they_are() {
    let sandbox = Sandbox::new();
    let wide = sandbox.start(PROGRAM).arg("recipes").env("COLUMNS", "500").output().unwrap();
    let list = text(&wide.stdout);
    assert_eq!(list.lines().count(), recipe::BUILT_IN.len());
    for (line, (name, shown)) in list.lines().zip(recipe::BUILT_IN) {
        let question = recipe::find(name).unwrap().question;
        assert!(line.starts_with(name) && line.ends_with(&question), "{line}");
        assert_eq!(sandbox.says(&["recipes", "show", name]).trim(), shown.trim());
    }
}

#[test]
fn a_recipe_that_was_shown_works_as_a_file() {
    let sandbox = Sandbox::new();
    for (name, _) in recipe::BUILT_IN {
        std::fs::write(sandbox.path("mine.toml"), sandbox.says(&["recipes", "show", name]))
            .unwrap();
        let environment = recipe::find(name).unwrap().uses_files().then_some(".");
        let plan = |recipe| {
            let environment = environment.into_iter();
            let args: Vec<&str> =
                ["plan", recipe].into_iter().chain(environment).chain(["--seed", "1"]).collect();
            sandbox.says(&args)
        };
        assert_eq!(lasting(&plan("mine.toml")), lasting(&plan(name)));
    }
}

#[test]
fn a_recipe_under_another_name_is_shown_alike() {
    let sandbox = Sandbox::new();
    let shown = sandbox.says(&["recipes", "show", "page-latency"]);
    std::fs::write(sandbox.path("mine.toml"), shown.replace("\"page-latency\"", "\"mine\""))
        .unwrap();
    let flags = ["--size=256KiB", "--time=5ms", "--cache=as-is", "--rounds=7"];
    for recipe in ["page-latency", "mine.toml"] {
        let text = text(&sandbox.ioassay(&[&["run", recipe, "."], &flags[..]].concat()).stdout);
        for part in ["all ops", "p50"] {
            assert!(text.contains(part), "{recipe} does not say '{part}': {text}");
        }
        // One number of iterations compares with nothing.
        assert!(!text.contains("iterations"), "{text}");
    }
}

/// A question of a stranger's, with headings, columns and an answer of its own, needs no Rust.
const STRANGERS: &str = r#"
name = "small-writes"
question = "What does a small durable write cost, by block size?"
size = "256KiB"
rounds = 7
time = "5ms"
ceilings = false

[view]
group = ["sync"]
columns = ["sync_p50", "iops", "durable", "cpu_per_op"]
answer = ["commits", "durability"]

[[cases]]
op = "write"
block = ["4KiB", "16KiB"]
pattern = "random"
allocation = "overwrite"
every = 1
sync = ["fdatasync", "fsync"]
"#;

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_question_of_a_strangers_has_its_table_and_its_answer() {
    let sandbox = Sandbox::new();
    std::fs::write(sandbox.path("mine.toml"), STRANGERS).unwrap();
    let text = text(&sandbox.ioassay(&["run", "mine.toml", "."]).stdout);
    let lines: Vec<&str> = text.lines().collect();
    let at = |part: &str| {
        let found = lines.iter().position(|line| line.contains(part));
        found.unwrap_or_else(|| panic!("'{part}' is not in {text}"))
    };
    let head = at("sync p50");
    let columns = ["case", "sync p50", "op/s", "95 % CI", "durable", "CPU/op", "verdict"];
    let places: Vec<Option<usize>> = columns.iter().map(|title| lines[head].find(title)).collect();
    assert!(places.iter().all(Option::is_some) && places.is_sorted(), "{}", lines[head]);
    for sync in ["fdatasync", "fsync"] {
        let heading = head + lines[head..].iter().position(|line| *line == sync).expect(sync);
        assert!(lines[heading + 1].starts_with("  4KiB"), "{text}");
        assert!(lines[heading + 2].starts_with("  16KiB"), "{text}");
    }
    let answers = ["Fastest durable: ", "No durable rate is valid."];
    assert!(answers.iter().any(|answer| text.contains(answer)), "{text}");
}

#[test]
fn a_pipe_is_as_wide_as_columns_say() {
    let sandbox = Sandbox::new();
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/2026-11-22-survey.jsonl");
    let widest = |columns: &str| {
        let mut command = sandbox.start(PROGRAM);
        let output = command.env("COLUMNS", columns).args(["report", record]).output().unwrap();
        text(&output.stdout).lines().map(|line| line.chars().count()).max().unwrap()
    };
    assert!(widest("80") <= 80);
    assert!((101..=120).contains(&widest("120")));
    assert_eq!(widest("none"), widest("120"));
}

/// A record that says nothing of its view has that of the built-in recipe of its name.
#[test]
fn a_record_without_a_view_is_shown_as_its_recipe_says() {
    let record = concat!(env!("CARGO_MANIFEST_DIR"), "/../../records/2026-11-21-survey.jsonl");
    let text = Sandbox::new().ioassay(&["report", record]);
    let text = String::from_utf8(text.stdout).unwrap();
    assert!(text.contains("storage, past the page cache"), "{text}");
}

#[test]
fn every_recipe_of_the_program_has_cases_on_a_plain_machine() {
    let (mut host, storage) = (zoo::host(), zoo::storage());
    // A load beside a chase needs a core of its own.
    host.platform.get_or_insert_default().processors.apart = Some(1);
    let peers = ["zebra", "dd"].map(|name| {
        let name = name.to_string();
        model::peer::Peer { name, ..zoo::peer() }
    });
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &peers };
    for (name, _) in recipe::BUILT_IN {
        let recipe = recipe::find(name).unwrap();
        assert_eq!(recipe.name, *name);
        for recipe in [recipe.clone(), recipe.quick().unwrap()] {
            let plan = recipe.plan(&Changes::default(), &environment).unwrap();
            assert!(plan.cases.len() > 3, "{name} has {} cases", plan.cases.len());
            let ids: HashSet<String> = plan.cases.iter().map(|p| p.case.id()).collect();
            assert_eq!(ids.len(), plan.cases.len(), "{name} has an id twice");
        }
    }
}

#[test]
fn of_rounds_and_invocations_the_one_follows_the_other() {
    for (rounds, invocations, expected) in [
        (None, None, (10, 5)),
        (Some(7), None, (7, 5)),
        (Some(1), None, (1, 1)),
        (None, Some(1), (10, 1)),
        (None, Some(12), (12, 12)),
        (Some(4), Some(2), (4, 2)),
        (Some(2), Some(2), (2, 2)),
    ] {
        let settled = recipe::repetitions::settle(rounds, invocations, (10, 5)).unwrap();
        assert_eq!(settled, expected, "{rounds:?} {invocations:?}");
    }
    let error = recipe::repetitions::settle(Some(2), Some(3), (10, 5)).unwrap_err();
    let expected = "3 invocations need at least as many rounds, but there are 2: ask for";
    assert!(error.to_string().starts_with(expected), "{error}");
}

/// A recipe sets the invocations like the command line, which takes precedence.
#[test]
fn a_recipe_of_one_round_has_one_invocation() {
    let sandbox = Sandbox::new();
    let planned = |head: &str, args: &[&str]| {
        let case = "[[cases]]\nkernel = \"read\"\nworking_set = \"1MiB\"\n";
        let text = format!("name = \"mine\"\nquestion = \"?\"\n{head}{case}");
        std::fs::write(sandbox.path("mine.toml"), text).unwrap();
        let said = sandbox.says(&[&["run", "mine.toml", "--dry-run"], args].concat());
        said.lines().next().unwrap().to_string()
    };
    assert!(planned("", &[]).contains("5 invocations, 10 rounds"), "{}", planned("", &[]));
    let once = planned("rounds = 1\n", &[]);
    assert!(once.contains("in up to 1 round ·"), "{once}");
    let twice = planned("rounds = 1\n", &["--invocations=2"]);
    assert!(twice.contains("2 invocations, 2 rounds"), "{twice}");
}

#[test]
fn ten_thousand_cases_are_planned_and_no_two_have_one_id() {
    let (host, storage) = (zoo::host(), zoo::storage());
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
    let values = |texts: &mut dyn Iterator<Item = String>| ValueList::from_texts(texts.collect());
    let axes = [
        ("block", values(&mut (1..=100).map(|n| format!("{n}KiB")))),
        ("threads", values(&mut (1..=100).map(|n| n.to_string()))),
        ("cache", values(&mut ["as-is".to_string()].into_iter())),
        ("engine", values(&mut ["pread".to_string()].into_iter())),
    ];
    let axes = axes.into_iter().map(|(axis, values)| (axis.to_string(), values)).collect();
    let changes = Changes { axes, seed: Some(1), ..Changes::default() };
    let recipe = recipe::find("read-methods").unwrap();
    assert_eq!(recipe.cases(&changes, &environment).unwrap().len(), 10_000);
    let plan = recipe.plan(&changes, &environment).unwrap();
    let asked = plan.cases.iter().filter(|p| p.role == model::plan::Role::Asked);
    let ids: HashSet<String> = asked.map(|planned| planned.case.id()).collect();
    assert_eq!(ids.len() + plan.skips.len(), 10_000);
    assert_eq!(ids.len(), 10_000, "{:?}", plan.skips.first());
}

#[test]
fn a_plan_measures_nothing_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    let plan = sandbox.says(&["plan", "read-methods", ".", "--size", "64MiB", "--threads", "1"]);
    assert!(plan.starts_with("read-methods · "), "{plan}");
    assert!(plan.contains("\nmeasured\n"), "{plan}");
    assert_eq!(sandbox.things(), [""; 0]);
    // A plan writes nothing, so it needs no free space.
    sandbox.says(&["plan", "page-latency", ".", "--size", "900TiB"]);
    assert_eq!(sandbox.things(), [""; 0]);
}

#[test]
fn a_dry_run_shows_the_plan_and_what_it_needs_and_leaves_nothing() {
    let sandbox = Sandbox::new();
    for args in [
        &["page-latency", ".", "--size", "64MiB", "--seed", "1"][..],
        &["sync-latency", ".", "--sync", "fsync", "--seed", "1", "--record", "r"],
        &["memory", "--kernel", "read", "--seed", "1", "--memory", "1GiB"],
        &["read-methods", ".", "--size", "900TiB", "--seed", "1"],
    ] {
        let dry = sandbox.says(&[&["run"], args, &["--dry-run"]].concat());
        let plan = sandbox.says(&[&["plan"], args].concat());
        assert_eq!(lasting(&dry), lasting(&plan));
        for expected in ["\nmeasured\n", "\nneeded\n", "\n  time: about ", "\n  record: "] {
            assert!(dry.contains(expected), "{dry}");
        }
        assert_eq!(sandbox.things(), [""; 0], "{args:?}");
    }
    let survey = sandbox.says(&["survey", "--dry-run", "--seed", "1"]);
    let plan = sandbox.says(&["plan", "survey", "--seed", "1"]);
    assert_eq!(lasting(&survey), lasting(&plan));
    let watch = ["watch", "survey", "--every", "1m", "--seed", "1", "--dry-run"];
    assert_eq!(lasting(&survey), lasting(&sandbox.says(&watch)));
    let large = sandbox.says(&["plan", "page-latency", "--size", "900TiB"]);
    assert!(unwrapped(&large).contains("that does not fit"), "{large}");
    let json: serde_json::Value =
        serde_json::from_str(&sandbox.says(&["plan", "memory", "--json"])).unwrap();
    assert!(json["needs"]["trials"].as_u64().unwrap() > 0);
    assert!(json["plan"]["cases"].as_array().unwrap().len() > 3);
    std::fs::write(sandbox.path("taken"), "").unwrap();
    sandbox.refuses(&["survey", "--dry-run", "--record", "taken"], &["'taken'", "File exists"]);
}

/// The part of a plan before the free disk space, without how much memory is available: both change
/// from moment to moment.
fn lasting(plan: &str) -> String {
    let (lasting, _) = plan.split_once("  disk: ").unwrap_or((plan, ""));
    let is_available = |rest: &[&str]| {
        matches!(rest, [_, _, "is", "available", ..] | [_, _, "of", "memory", "for", ..])
    };
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        let kept = (0..words.len()).filter(|&at| !is_available(&words[at..])).map(|at| words[at]);
        kept.collect::<Vec<&str>>().join(" ")
    };
    lasting.lines().map(line).collect::<Vec<String>>().join("\n")
}

/// A plan states the maximum number of trials, and a run never exceeds it.
#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_run_makes_no_more_trials_than_its_plan_says() {
    let sandbox = Sandbox::new();
    let args = ["page-latency", ".", "--size=64KiB", "--rounds=1", "--time=1ms", "--cache=as-is"];
    let plan = sandbox.says(&[&["plan"], &args[..], &["--json"]].concat());
    let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
    sandbox.plainly(&[&["run"], &args[..], &["--record=record"]].concat());
    let record = std::fs::read_to_string(sandbox.path("record")).unwrap();
    let trials = record.lines().filter(|line| line.starts_with("{\"trial\"")).count();
    assert_eq!(plan["needs"]["trials"].as_u64(), Some(trials as u64));
}

/// Checks that a plan with `axes` shows skips with the reason `expected`, and no measured case. A
/// run must refuse with the same reason and leave nothing behind.
fn check_skip(axes: &[&str], expected: &str) {
    let sandbox = Sandbox::new();
    let axes = [&["read-methods", ".", "--size", "1MiB", "--threads", "1"][..], axes].concat();
    let plan = sandbox.says(&[&["plan"], &axes[..]].concat());
    assert!(unwrapped(&plan).contains(expected), "'{plan}' does not say '{expected}'");
    assert!(!plan.contains("\nmeasured\n"), "{plan}");
    assert_eq!(sandbox.things(), [""; 0]);
    let output = sandbox.ioassay(&[&["run"], &axes[..], &["--record", "record"]].concat());
    let said = unwrapped(&(text(&output.stdout) + &text(&output.stderr)));
    assert!(said.contains(expected), "'{said}' does not say '{expected}'");
    assert!(said.contains("nothing to measure"), "{said}");
    assert_eq!(output.status.code(), Some(2));
    assert_eq!(sandbox.things(), [""; 0]);
}

/// The text in one line, without wrapping.
fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn what_cannot_be_is_skipped_with_its_reason() {
    let pread = ["--engine", "pread"];
    let with = |axes: &[&'static str]| [&pread[..], axes].concat();
    check_skip(&with(&["--block", "2MiB"]), "the block of 2MiB is larger than the file of 1MiB");
    check_skip(&with(&["--depth", "2"]), "pread waits for each block");
    check_skip(&with(&["--advice", "populate"]), "pread has none");
    check_skip(&with(&["--submission", "sqpoll"]), "only io_uring has a submission thread");
    check_skip(&with(&["--ops", "1000000"]), "operations need as many different blocks");
    check_skip(&["--engine", "mmap", "--cache", "direct"], "O_DIRECT has no effect on mmap");
    check_skip(&["--engine", "null"], "null moves no data");
    check_skip(&["--engine", "pread", "--touch", "count", "--block", "6B"], "cut some in two");
    check_skip(&["--engine", "uring", "--peer", "c"], "the peer c has no engine uring");
    check_skip(&["--engine", "pread", "--isa", "neon,avx512", "--touch", "page"], "isa auto");
}

#[test]
fn memory_that_is_not_there_is_refused_before_it_is_asked_for() {
    let sandbox = Sandbox::new();
    let args = ["run", "memory", "--kernel", "read", "--working-set", "900GiB", "--isa", "scalar"];
    sandbox.refuses(&args, &["nothing to measure", "a working set of 900GiB does not fit"]);
    let args = ["run", "read-methods", ".", "--engine", "load", "--size", "90TiB"];
    sandbox.refuses(&args, &["a file loaded into memory of 90TiB does not fit"]);
}

#[test]
fn what_no_case_takes_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.refuses(&["run", "memory", "--engine", "pread"], &["has no axis 'engine' to change"]);
    sandbox.refuses(&["run", "memory", "."], &["the recipe 'memory' uses no files"]);
    sandbox.refuses(&["plan", "survey", "--kernel", "raed"], &["did you mean 'read'?"]);
}

#[test]
fn an_unaligned_direct_read_is_skipped_with_its_reason() {
    let test = "an_unaligned_direct_read_is_skipped";
    if Sandbox::new().is_on_disk(test) {
        let axes = ["--engine", "pread", "--cache", "direct", "--block", "100B"];
        check_skip(&axes, "O_DIRECT here needs blocks in multiples of");
    }
}

#[test]
fn a_sweep_of_threads_goes_up_to_twice_the_cores() {
    let host = zoo::host();
    let changes = Changes::default();
    let environment = Environment { host: &host, storage: None, source: None, peers: &[] };
    let cases = recipe::find("read-methods").unwrap().cases(&changes, &environment).unwrap();
    let threads: HashSet<u32> = cases.iter().map(model::case::Case::threads).collect();
    assert_eq!(threads, HashSet::from([1, 2, 4]));
}

#[test]
fn one_seed_makes_one_plan_and_one_file() {
    let sandbox = Sandbox::new();
    for name in ["one", "other"] {
        sandbox.says(&["data", "create", name, "--size", "1MiB", "--seed", "5"]);
    }
    let [one, other] = ["one", "other"].map(|name| std::fs::read(sandbox.path(name)).unwrap());
    assert!(one == other, "two files of one seed differ");
    let plan =
        || sandbox.says(&["plan", "page-latency", argument(sandbox.directory()), "--seed", "5"]);
    assert_eq!(lasting(&plan()), lasting(&plan()));
    assert!(plan().contains("seed 5"));
}

#[test]
fn a_plan_names_the_rates_that_are_found_first() {
    let sandbox = Sandbox::new();
    let args = ["plan", "load", ".", "--size=1MiB", "--rate=20%,90%", "--hold=p99<1ms,p50<200us"];
    let said = sandbox.says(&[&args[..], &["--at-least=3k"]].concat());
    for part in [
        "20 %, 90 % of what each closed loop does",
        "4 rates around the one at which p99<1ms, p50<200us ceases",
        "3000 operations per second",
    ] {
        assert!(said.contains(part), "the plan does not say '{part}': {said}");
    }
    let plan = sandbox.json(&[&args[..], &["--at-least=3k", "--no-ceilings", "--json"]].concat());
    let cases = plan["plan"]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 1, "no rate is known yet: {plan:#}");
    assert_eq!(plan["loads"][0]["rates_percent"], serde_json::json!([20, 90]));
    // The closed loop, two shares, four rates around the bound and the least; ten rounds.
    assert_eq!(plan["needs"]["trials"], 80, "{plan:#}");
}

#[test]
fn a_load_is_measured_at_shares_of_its_closed_loop() {
    let sandbox = Sandbox::new();
    let args = ["run", "load", ".", "--size=4MiB", "--engine=pread", "--depth=1", "--cache=as-is"];
    let few = ["--time=50ms", "--rounds=5", "--invocations=1", "--rate=10%,50%", "--json"];
    let report = sandbox.json(&[&args[..], &few].concat());
    let load = &report["loads"][0];
    let rates = load["rates"].as_array().unwrap();
    assert_eq!(rates.len(), 2, "{load:#}");
    assert!(load["closed_iops"]["median"].as_f64().unwrap() > 0.0, "{load:#}");
    let ratio = rates[1]["rate"].as_f64().unwrap() / rates[0]["rate"].as_f64().unwrap();
    assert!((ratio - 5.0).abs() < 0.1, "{load:#}");
    assert_eq!(load["held"], serde_json::Value::Null);
}
