//! What is written about the program, held against the program.

use crate::desk::Desk;

#[test]
fn the_readme_names_the_two_commands_that_do_everything() {
    let readme = include_str!("../../../../README.md");
    for command in ["cargo run --release -- survey", "cargo xtask test"] {
        assert!(readme.contains(command), "the README does not name '{command}'");
    }
}

#[test]
fn the_schema_is_the_one_of_the_report() {
    let desk = Desk::new();
    assert_eq!(desk.says(&["schema"]).trim(), report::json_schema().trim());
}
