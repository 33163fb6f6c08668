//! The command that repeats a run.

use assess::Assessment;
use model::record::Tool;
use model::shell::quoted;

/// Options with a value that affect only the output.
const OF_OUTPUT: [&str; 5] = ["--record", "--html", "--openmetrics", "--svg", "--color"];

/// The same without a value.
const OF_OUTPUT_ALONE: [&str; 6] =
    ["--json", "--markdown", "--csv", "--keep", "--quiet", "--dry-run"];

/// Commands that measure and accept a seed.
const SEEDED: [&str; 2] = ["survey", "run"];

/// The shell command that repeats the run: without output options, and with the seed, which
/// determines the data and the orders.
pub(crate) fn again(assessment: &Assessment) -> String {
    let Tool { name, command, .. } = &assessment.header.tool;
    let mut words = vec![name.clone()];
    let mut given = command.iter().skip(1);
    while let Some(word) = given.next() {
        let option = word.split_once('=').map_or(word.as_str(), |(option, _)| option);
        match word {
            _ if OF_OUTPUT_ALONE.contains(&option) => {}
            _ if OF_OUTPUT.contains(&option) => {
                if option == word {
                    given.next();
                }
            }
            word => words.push(word.clone()),
        }
    }
    let is_seeded = words.get(1).is_some_and(|command| SEEDED.contains(&command.as_str()));
    if is_seeded && !words.iter().any(|word| word == "--seed" || word.starts_with("--seed=")) {
        words.extend(["--seed".to_string(), assessment.header.plan.seed.to_string()]);
    }
    words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::zoo;

    fn check(command: &[&str], expected: &str) {
        let mut record = zoo::record();
        record.header.tool.command = command.iter().map(|word| word.to_string()).collect();
        assert_eq!(again(&assess::assess(&record)), expected);
    }

    #[test]
    fn a_run_is_made_again_with_its_seed_and_no_output() {
        check(
            &["/x/ioassay", "survey", "/my data", "--json"],
            "ioassay survey '/my data' --seed 1",
        );
        check(
            &["ioassay", "run", "zoo", "--record=a", "--html", "b", "--size", "1GiB", "--csv"],
            "ioassay run zoo --size 1GiB --seed 1",
        );
        check(
            &["ioassay", "--color", "never", "run", "z", "--seed", "7"],
            "ioassay run z --seed 7",
        );
        check(&["ioassay", "peers", "verify"], "ioassay peers verify");
        check(&["ioassay", "run", "it's", "--record"], r"ioassay run 'it'\''s' --seed 1");
        check(&["ioassay", "run", "z", r"$'a\012b'"], r"ioassay run z $'a\012b' --seed 1");
        check(&[], "ioassay");
    }
}
