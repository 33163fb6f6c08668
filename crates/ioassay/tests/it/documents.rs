//! Checks the documents against the program.

use crate::sandbox::{PROGRAM, Sandbox, argument, text};
use ioassay::recipe::{self, BUILT_IN};
use model::view::{CellMetric, Layout, Question};
use std::path::{Path, PathBuf};

/// The folder of the workspace.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// What a recipe's view may be is written where recipes are.
#[test]
fn the_manual_lists_what_a_view_may_be() {
    let text = document("docs/use.md");
    for name in
        [Layout::NAMES, Question::NAMES, CellMetric::NAMES, &report::table_columns()].concat()
    {
        assert!(text.contains(&format!("`{name}`")), "'{name}' is not in docs/use.md");
    }
}

#[test]
fn the_readme_names_the_two_commands_that_do_everything() {
    let readme = document("README.md");
    for command in ["cargo run --release -- survey", "cargo xtask test"] {
        assert!(readme.contains(command), "the README does not name '{command}'");
    }
}

#[test]
fn the_schema_is_the_one_of_the_report() {
    let sandbox = Sandbox::new();
    assert_eq!(sandbox.says(&["schema"]).trim(), report::json_schema().trim());
}

/// Each recipe has a page with its question, linked from the README.
#[test]
fn every_recipe_has_a_page_of_its_own() {
    let readme = document("README.md");
    for (name, _) in BUILT_IN {
        let page = document(&format!("docs/recipes/{name}.md"));
        assert!(page.starts_with(&format!("# {name}\n")), "{name}");
        let question = recipe::find(name).unwrap().question;
        let unfolded = page.split_whitespace().collect::<Vec<_>>().join(" ");
        let question = question.trim_end_matches(['?', '.']);
        assert!(unfolded.contains(question), "the page of {name} does not ask: {question}");
        assert!(!commands(&page).is_empty(), "the page of {name} has no command");
        assert!(readme.contains(&format!("(docs/recipes/{name}.md)")), "{name} is not linked");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_commands_of_the_readme_do_what_they_say() {
    check("README.md");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_commands_of_the_guide_do_what_they_say() {
    check("docs/use.md");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_commands_of_the_tutorial_do_what_they_say() {
    check("docs/tutorial.md");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn the_commands_of_the_recipes_pages_do_what_they_say() {
    for (name, _) in BUILT_IN {
        check(&format!("docs/recipes/{name}.md"));
    }
}

/// The output shown in documents matches today's output for the same record; `cargo xtask show`
/// updates it.
#[test]
fn what_documents_show_is_what_their_records_say() {
    let sandbox = Sandbox::new();
    for path in ["docs/recipes/survey.md", "docs/tutorial.md"] {
        let document = document(path);
        let marks: Vec<&str> = document.split("<!-- records/").skip(1).collect();
        assert!(!marks.is_empty(), "{path} shows no record");
        for mark in marks {
            let (name, after) =
                mark.split_once(" -->\n```text\n").expect("a block follows its record");
            let block = after.split("\n```").next().unwrap();
            let record = root().join("records").join(name);
            let output = sandbox.ioassay(&["report", argument(&record)]);
            assert_eq!(block, text(&output.stdout).trim_end(), "{path}: cargo xtask show");
        }
    }
}

/// The README shows the table of a survey with fewer columns.
#[test]
fn the_readme_shows_what_its_record_says() {
    let sandbox = Sandbox::new();
    let readme = document("README.md");
    let (_, after) = readme.split_once("<!-- table of records/").expect("it shows a record");
    let (name, after) = after.split_once(" -->\n```text\n").expect("a block follows its record");
    let block = after.split("\n```").next().unwrap();
    let record = root().join("records").join(name);
    let output = sandbox.ioassay(&["report", argument(&record)]);
    let report = text(&output.stdout);
    let is_reported = |shown: &str| report.lines().any(|line| has_words(line, shown));
    for line in block.lines() {
        assert!(line.chars().count() <= 100, "wide: {line}");
        assert!(is_reported(line), "cargo xtask show: {line}");
    }
    assert!(block.lines().count() > 10, "{block}");
}

/// The README shows the comparisons and the answers of records, 100 columns wide.
#[test]
fn the_readme_concludes_what_its_records_say() {
    let sandbox = Sandbox::new();
    let readme = document("README.md");
    let marks: Vec<&str> = readme.split("<!-- conclusion of records/").skip(1).collect();
    assert!(!marks.is_empty(), "it shows no conclusion");
    for mark in marks {
        let (name, after) = mark.split_once(" -->\n```text\n").expect("a block follows its record");
        let block = after.split("\n```").next().unwrap();
        let record = root().join("records").join(name);
        let mut command = sandbox.start(PROGRAM);
        let output = command.env("COLUMNS", "100").arg("report").arg(record).output().unwrap();
        let report = text(&output.stdout);
        let answer = report.trim_end().rsplit("\n\n").next().unwrap();
        assert!(block.ends_with(answer), "cargo xtask show: {answer}");
        assert!(block.split("\n\n").all(|part| report.contains(part)), "cargo xtask show: {block}");
    }
}

/// Whether `line` contains the words of `part` in the same order.
fn has_words(line: &str, part: &str) -> bool {
    let mut words = line.split_whitespace();
    part.split_whitespace().all(|word| words.any(|other| other == word))
}

/// Pictures differ from those of their records in their colors only.
#[test]
fn pictures_of_documents_are_those_of_their_records() {
    let sandbox = Sandbox::new();
    let without_style = |svg: &str| {
        let (before, rest) = svg.split_once("<style>").expect("it has a style");
        let (_, after) = rest.split_once("</style>").expect("its style ends");
        format!("{before}{after}")
    };
    let pictures = [("ladder", "2026-11-24-survey.jsonl"), ("compared", "2026-11-22-slow.jsonl")];
    for (name, record) in pictures {
        let record = root().join("records").join(record);
        let output = sandbox.ioassay(&["report", argument(&record), "--svg", name]);
        let expected = without_style(&text(&output.stdout));
        for scheme in ["light", "dark"] {
            let path = format!("docs/pictures/{name}-{scheme}.svg");
            assert_eq!(without_style(&document(&path)), expected, "{path}: cargo xtask show");
        }
    }
}

/// Runs all commands of a document in one directory, in order. Measuring commands first run
/// unchanged with `--dry-run`, then with small files and one short round.
fn check(path: &str) {
    let sandbox = Sandbox::new();
    let all = commands(&document(path));
    assert!(!all.is_empty(), "{path} has no command");
    for command in all {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let measures = matches!(words[0], "run" | "survey" | "watch");
        let resumed = words.iter().position(|word| *word == "--resume");
        if let Some(resumed) = resumed {
            interrupt(&sandbox.path(words[resumed + 1]));
        }
        let small = if measures {
            if words[0] != "watch" && resumed.is_none() {
                let planned = sandbox.says(&[&words[..], &["--dry-run"]].concat());
                assert!(planned.contains("measured"), "{path}: {command:?}: {planned}");
            }
            small(&words)
        } else {
            command.clone()
        };
        let words: Vec<&str> = small.iter().map(String::as_str).collect();
        let output = sandbox.ioassay(&words);
        let may_doubt = measures || words[0] == "report" || words[0] == "compare";
        // Foreign I/O, or an OS that takes memory back, can void every case of such a small run.
        // Then `compare` reports that the records have nothing to compare.
        let is_disturbed = |said: &str| said.contains(": Foreign") || said.contains(": NotWarm");
        if words[0] == "compare" && is_disturbed(&text(&output.stderr)) {
            continue;
        }
        let is_done = match output.status.code() {
            Some(0) => true,
            Some(1) => may_doubt,
            _ => false,
        };
        assert!(is_done, "{path}: {command:?}, as {words:?}: {output:?}");
        assert!(!text(&output.stdout).is_empty(), "{path}: {command:?} says nothing");
    }
}

/// Cuts a record as if its run had been killed.
fn interrupt(record: &Path) {
    let text = std::fs::read_to_string(record).unwrap();
    let lines = text.lines().count();
    let cut: Vec<&str> = text.split_inclusive('\n').take(lines / 2).collect();
    std::fs::write(record, cut.concat()).unwrap();
}

/// The arguments of each `ioassay` command in a document's `console` blocks, as a shell splits
/// them, up to a comment or a file for its output.
fn commands(document: &str) -> Vec<Vec<String>> {
    let blocks = document.split("```console\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap().lines());
    let of_program = lines.filter_map(|line| {
        line.strip_prefix("ioassay ").or(line.strip_prefix("cargo run --release -- "))
    });
    let words = of_program.map(|line| shell_words::split(line).expect("a shell takes it"));
    words.map(|words| words.into_iter().take_while(|word| word != ">").collect()).collect()
}

/// Working sets that fit into the first caches.
const SMALL_ARRAYS: &str = "64KiB,1MiB";

/// Options that determine how long a command takes, each with its value for a test; `None` removes
/// the option.
const LENGTHS: [(&str, Option<&str>); 9] = [
    ("--size", None),
    ("--rounds", None),
    ("--time", None),
    ("--sustain", Some("10s")),
    ("--for", Some("2s")),
    ("--ops", Some("100")),
    ("--every", Some("1s")),
    // An array larger than big caches takes seconds to fill.
    ("--working-set", Some(SMALL_ARRAYS)),
    ("--count", Some("1")),
];

/// The same command with less work.
fn small(words: &[&str]) -> Vec<String> {
    let mut small: Vec<&str> = Vec::new();
    let mut words = words.iter().copied().filter(|word| *word != "--quick");
    match words.next() {
        Some("survey") => small.extend(["run", "survey"]),
        Some(command) => small.push(command),
        None => panic!("a command has words"),
    }
    while let Some(word) = words.next() {
        match LENGTHS.iter().find(|(option, _)| *option == word) {
            None => small.push(word),
            Some((option, value)) => {
                // 0 means no limit, and the command demonstrates exactly that.
                let given = words.next().filter(|given| *given == "0");
                small.extend(given.or(*value).iter().flat_map(|value| [option, value]));
            }
        }
    }
    // A high percentile takes so many operations that each rate lasts seconds.
    let goals = |word: &str| word.replace("p99.9<", "p75<").replace("p99<", "p50<");
    if small[1] == "steady" && !small.contains(&"--for") {
        small.extend(["--for", "1s"]);
    }
    let is_sustained = small.contains(&"--sustain") || small[1] == "steady";
    match small[1] {
        "memory" | "compilers" | "loaded-latency" => {}
        "metadata" => small.extend(["--entries", "50"]),
        _ => small.extend(["--size", "1MiB"]),
    }
    if ["memory", "survey", "loaded-latency"].contains(&small[1])
        && !small.contains(&"--working-set")
    {
        small.extend(["--working-set", SMALL_ARRAYS]);
    }
    if small[1] == "compilers" {
        // The default would build two dozen programs, which other tests cover.
        small.extend(["--peer", "rust"]);
    }
    if !is_sustained {
        // A campaign needs three invocations.
        let few = if small.contains(&"--for") { &["3", "--invocations", "3"][..] } else { &["1"] };
        small.extend(["--time", "5ms", "--rounds"].iter().chain(few));
    }
    small.into_iter().map(goals).collect()
}
