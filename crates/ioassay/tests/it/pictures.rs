//! Single pictures of a record.

use crate::sandbox::{Sandbox, argument, text};

#[test]
fn a_picture_of_a_record_stands_alone_and_an_unknown_one_is_refused_with_those_there_are() {
    let sandbox = Sandbox::new();
    let path = sandbox.path("record.jsonl");
    let args = ["run", "page-latency", ".", "--size", "64KiB", "--rounds", "2", "--time", "1ms"];
    let axes = ["--cache", "as-is", "--json", "--record", argument(&path)];
    sandbox.json(&[&args[..], &axes].concat());
    let report = ["report", argument(&path), "--svg"];
    // Two rounds may be void, but the picture is still drawn.
    let drawn = || text(&sandbox.ioassay(&[&report[..], &["rounds"]].concat()).stdout);
    let svg = drawn();
    assert!(svg.starts_with("<svg ") && svg.trim_end().ends_with("</svg>"), "{svg}");
    assert!(svg.contains("id=\"figure-rounds\"") && svg.contains("prefers-color-scheme"), "{svg}");
    assert_eq!(svg, drawn(), "it is another each time");
    let list = sandbox.ioassay(&[&report[..], &["list"]].concat());
    let names = text(&list.stdout);
    assert!(names.lines().any(|line| line.starts_with("rounds ")), "{names}");
    for name in names.lines().filter_map(|line| line.split_whitespace().next()) {
        let drawn = text(&sandbox.ioassay(&[&report[..], &[name]].concat()).stdout);
        assert!(drawn.starts_with("<svg "), "{name}: {drawn}");
    }
    let folder = sandbox.path("figures");
    let whole = ["report", argument(&path), "--svg-dir", argument(&folder)];
    for _ in 0..2 {
        sandbox.ioassay(&whole);
        let mut kept: Vec<String> = std::fs::read_dir(&folder).unwrap().map(file_name).collect();
        let mut listed: Vec<String> = names.lines().map(first_word).collect();
        kept.sort();
        listed.sort();
        assert_eq!(kept, listed, "the second time, they are replaced");
    }
    std::fs::write(folder.join("rounds.svg"), "of another program").unwrap();
    let refused = sandbox.ioassay(&whole);
    assert_eq!(refused.status.code(), Some(2));
    let says = text(&refused.stderr);
    assert!(says.contains("rounds.svg") && says.contains("not a report of ioassay"), "{says}");
    assert_eq!(std::fs::read_to_string(folder.join("rounds.svg")).unwrap(), "of another program");
    let expected = ["unknown figure 'round'", "did you mean 'rounds'?", "known are"];
    sandbox.refuses(&[&report[..], &["round"]].concat(), &expected);
    let both = [&report[..], &["rounds", "--json"]].concat();
    sandbox.refuses(&both, &["--svg", "--json", "cannot be used"]);
}

fn file_name(entry: std::io::Result<std::fs::DirEntry>) -> String {
    entry.unwrap().file_name().into_string().unwrap()
}

/// The name of a listed figure, as a file.
fn first_word(line: &str) -> String {
    format!("{}.svg", line.split_whitespace().next().unwrap())
}
