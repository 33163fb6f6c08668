//! Commands of the smoke form: the same with less work.

/// Options that determine how long a run of ioassay takes, each with its value here.
const LENGTHS: [(&str, Option<&str>); 4] = [
    ("--rounds", Some("1")),
    ("--invocations", Some("1")),
    ("--time", Some("50ms")),
    ("--no-ceilings", None),
];

/// The words of ioassay's commands that have such options.
const RUN: &str = "ioassay run ";

/// The command `line` with less work, if it is a run of ioassay.
pub(super) fn command(line: &str) -> String {
    if !line.starts_with(RUN) {
        return line.to_owned();
    }
    let mut words: Vec<&str> = line.split(' ').collect();
    for (option, value) in LENGTHS {
        match words.iter().position(|word| *word == option) {
            Some(place) => value.iter().for_each(|value| words[place + 1] = value),
            None => words.extend([option].into_iter().chain(value)),
        }
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_ioassay_is_shorter() {
        let line = "ioassay run load DIR --time 4s --no-ceilings --rounds 5 --json";
        let expected =
            "ioassay run load DIR --time 50ms --no-ceilings --rounds 1 --json --invocations 1";
        assert_eq!(command(line), expected);
        let expected = "ioassay run WRITE DIR --rounds 1 --invocations 1 --time 50ms --no-ceilings";
        assert_eq!(command("ioassay run WRITE DIR"), expected);
        assert_eq!(command("dd if=FILE --time 4s"), "dd if=FILE --time 4s");
    }
}
