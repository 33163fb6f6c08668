//! Markdown, held against a parser of CommonMark with the tables of GitHub.

use super::hostile::hostile;
use super::{GITHUB, all, compared_records, made, made_writing};
use crate::document::{Block, Document};
use crate::tests::forms::{markdown, markdown_of_records};
use assess::Assessment;
use insta::assert_snapshot;
use model::view::{Layout, View};
use proptest::prelude::*;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

/// What a document is made of.
#[derive(Debug, Default, PartialEq)]
struct Shape {
    headings: usize,
    /// Of each table the number of its rows below the titles, and of its columns.
    tables: Vec<(usize, usize)>,
    fences: usize,
    /// Cells of each table, those of its titles first.
    cells: Vec<Vec<String>>,
}

/// The shape of a document. Refuses HTML, links, pictures, and rows that are not as wide as their
/// table, of which a parser would say nothing.
fn shape(markdown: &str) -> Shape {
    let mut shape = Shape::default();
    let mut cell = None;
    for event in Parser::new_ext(markdown, GITHUB) {
        match event {
            Event::Start(Tag::Heading { .. }) => shape.headings += 1,
            Event::Start(Tag::CodeBlock(_)) => shape.fences += 1,
            Event::Start(Tag::Table(columns)) => {
                shape.tables.push((0, columns.len()));
                shape.cells.push(Vec::new());
            }
            Event::Start(Tag::TableRow) => {
                shape.tables.last_mut().expect("a row is of a table").0 += 1;
            }
            Event::Start(Tag::TableCell) => cell = Some(String::new()),
            Event::End(TagEnd::TableCell) => {
                let cells = shape.cells.last_mut().expect("a cell is of a table");
                cells.push(cell.take().expect("it was begun"));
            }
            Event::Text(text) => {
                if let Some(cell) = &mut cell {
                    cell.push_str(&text);
                }
            }
            Event::Html(_)
            | Event::InlineHtml(_)
            | Event::InlineMath(_)
            | Event::DisplayMath(_)
            | Event::FootnoteReference(_)
            | Event::TaskListMarker(_)
            | Event::Rule
            | Event::Start(
                Tag::Link { .. } | Tag::Image { .. } | Tag::HtmlBlock | Tag::Strikethrough,
            ) => {
                panic!("{event:?} in\n{markdown}")
            }
            _ => {}
        }
    }
    let is_row = |line: &&str| line.starts_with("| ");
    let mut widths = markdown
        .lines()
        .filter(is_row)
        .map(|line| line.replace(r"\\", "").replace(r"\|", "").matches('|').count() - 1);
    for (rows, columns) in &shape.tables {
        // The titles, and the line below them.
        for _ in 0..rows + 2 {
            assert_eq!(widths.next(), Some(*columns), "{markdown}");
        }
    }
    assert_eq!(widths.next(), None, "what looks like a row is in a table");
    shape
}

/// The Markdown of an assessment has the tables of its document.
fn check_shape(assessment: &Assessment) -> Shape {
    let document = crate::run(assessment);
    if let Some(card) = &document.card {
        check_document(card);
    }
    check_document(&Document { card: None, ..document })
}

fn check_document(document: &Document) -> Shape {
    let shape = shape(&document.markdown());
    let shown = document.parts.iter().filter(|part| !part.is_on_page_only);
    let tables = shown.flat_map(|part| part.blocks.iter()).filter_map(|block| match block {
        Block::Table(table) => Some((table.grid.lines().len(), table.grid.titles().len())),
        _ => None,
    });
    assert_eq!(shape.tables, tables.collect::<Vec<_>>());
    let blocks = document.parts.iter().flat_map(|part| part.blocks.iter());
    let fences = blocks.filter(|block| matches!(block, Block::Code(_))).count();
    assert_eq!((shape.headings, shape.fences), (1, fences));
    shape
}

#[test]
fn every_assessment_as_markdown() {
    for (index, assessment) in all().iter().enumerate() {
        assert_snapshot!(format!("markdown_{index:02}"), markdown(assessment));
    }
}

#[test]
fn two_records_as_markdown() {
    let text = markdown_of_records(&compared_records(), ["a.jsonl", "b.jsonl"]);
    let shape = shape(&text);
    assert_eq!((shape.headings, shape.tables), (1, vec![(2, 8)]));
    assert_snapshot!(text);
}

#[test]
fn every_table_has_its_rows_and_columns() {
    for assessment in all() {
        check_shape(&assessment);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_record_says_cannot_break_it(
        text in r"[|`<>*_\[\]()~$#&!\\\n\r -]{0,12}[a-z]?|\PC{0,6}|<script>|a\|b|.x.\n\n# y|```"
    ) {
        for assessment in [made::rich(), made_writing::strategies(), made::interrupted()] {
            let plain = check_shape(&assessment);
            let broken = check_shape(&hostile(assessment, &text));
            prop_assert_eq!(plain.tables.len(), broken.tables.len());
            let titles = |shape: &Shape| -> Vec<Vec<String>> {
                let tables = shape.tables.iter().zip(&shape.cells);
                tables.map(|((_, columns), cells)| cells[..*columns].to_vec()).collect()
            };
            prop_assert_eq!(titles(&plain), titles(&broken));
        }
    }
}

/// Void figures stand in brackets, and no durable rate stands where none is.
#[test]
fn what_does_not_stand_cannot_be_mistaken() {
    let text = markdown(&made::rich());
    assert!(text.contains("(705 MB/s)") && text.contains("in brackets: void"), "{text}");
    assert_eq!(text.matches("705 MB/s").count(), text.matches("(705 MB/s)").count(), "{text}");
    let text = markdown(&made_writing::strategies());
    assert!(text.contains("not durable"), "{text}");
    assert!(!text.contains("598 MB/s"), "{text}");
}

#[test]
fn what_has_no_figure_is_said() {
    let failed = markdown(&made::all_failed());
    assert!(failed.contains("| failed |") && failed.contains("- **failed** "), "{failed}");
    let interrupted = markdown(&made::interrupted());
    assert!(interrupted.contains("> **Note:** the run was stopped"), "{interrupted}");
    let empty = markdown(&super::build::assessment("empty", Vec::new()));
    assert!(empty.contains("No case was measured."), "{empty}");
}

/// With doubts, with questions that are undecided, and with pages of both sizes.
#[test]
fn a_survey_has_a_card_of_few_lines() {
    let card = |assessment: Assessment| {
        let view = View { layout: Layout::Ladder, ..assessment.view().clone() };
        let card = super::forms::card(&super::build::in_view(view, assessment));
        assert!(card.lines().count() <= 35, "{card}");
        card
    };
    card(made::interrupted());
    let failed = card(made::all_failed());
    assert!(failed.contains("failed: ") && !failed.contains("| --"), "{failed}");
    let mut damaged = made::rich();
    damaged.damage = vec!["line 7 is damaged".to_string(); 8];
    assert!(card(damaged).contains(" of the answer left out"));
    assert_snapshot!("card_of_a_survey", super::forms::card(&made::rich()));
}
