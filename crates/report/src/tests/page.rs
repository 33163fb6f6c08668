//! Pages: their law is that a record changes no tag of them.

use super::{all, made, made_writing, two_records};
use crate::MARK;
use crate::tests::forms::{page, page_of_records};
use assess::Assessment;
use assess::failure::Failure;
use insta::assert_snapshot;
use model::plan::Skip;
use model::record::End;
use proptest::prelude::*;
use std::collections::HashSet;

/// The tags of a page in their order, without attributes; nothing else begins with `<`.
fn tags(page: &str) -> Vec<&str> {
    let starts = page.split('<').skip(1);
    starts.map(|rest| rest.split([' ', '>', '\n']).next().expect("a split has a part")).collect()
}

/// The values of an attribute.
fn values<'a>(page: &'a str, attribute: &str) -> Vec<&'a str> {
    let start = format!(" {attribute}=\"");
    page.split(&start).skip(1).map(|rest| rest.split('"').next().expect("a part")).collect()
}

/// A page without the elements of this tag.
fn without(page: &str, tag: &str) -> String {
    let (start, end) = (format!("<{tag}"), format!("</{tag}>"));
    let mut parts = page.split(&start);
    let mut out = parts.next().unwrap_or_default().to_string();
    for part in parts {
        out.push_str(part.split_once(&end).expect("it ends").1);
    }
    out
}

/// What is read on a page, a line for each block; pictures and the style left out.
fn read(page: &str) -> String {
    let page = without(&without(page, "style"), "svg");
    let mut out = String::new();
    for part in page.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap_or((part, ""));
        let tag = tag.split(' ').next().unwrap_or_default();
        match tag {
            "td" | "dd" => out.push_str(" | "),
            "th" if !out.ends_with('\n') => out.push_str(" | "),
            "/p" | "/li" | "/tr" | "/h1" | "/h2" | "/h3" | "/summary" | "/div" | "/caption"
            | "section" | "/pre"
                if !out.ends_with('\n') =>
            {
                out.push('\n')
            }
            _ => {}
        }
        out.push_str(text);
    }
    let lines = out.lines().map(|line| line.trim_end().to_string());
    lines.collect::<Vec<_>>().join("\n")
}

fn compared() -> String {
    let (a, b) = two_records(1.25);
    page_of_records(&super::compare(&a, &b), ["a.jsonl", "b.jsonl"])
}

fn pages() -> Vec<String> {
    all().iter().map(page).chain([compared()]).collect()
}

#[test]
fn page_of_a_survey() {
    assert_snapshot!(read(&page(&made::rich())));
}

#[test]
fn page_where_all_failed() {
    assert_snapshot!(read(&page(&made::all_failed())));
}

#[test]
fn page_of_two_records() {
    assert_snapshot!(read(&compared()));
}

#[test]
fn every_page_is_marked_whole_and_alone() {
    for page in pages() {
        assert!(page[..256].contains(MARK), "{}", &page[..256]);
        assert!(page.ends_with("</html>"), "{}", &page[page.len() - 60..]);
        for foreign in ["<script", "src=", "@import", "url(", "<link", "<object", "<iframe"] {
            assert!(!page.contains(foreign), "{foreign}");
        }
        let outside = page.replace("http://www.w3.org/2000/svg", "");
        assert!(!outside.contains("://"), "something is named that is elsewhere");
    }
}

#[test]
fn headings_and_anchors_lead_somewhere() {
    for page in pages() {
        let ids: Vec<&str> = values(&page, "id");
        let known: HashSet<&str> = ids.iter().copied().collect();
        assert_eq!(known.len(), ids.len(), "an id is given twice: {ids:?}");
        for target in values(&page, "href") {
            let id = target.strip_prefix('#').expect("links lead to places of the page");
            assert!(known.contains(id), "{id}");
        }
        for label in values(&page, "aria-labelledby") {
            assert!(label.split(' ').all(|id| known.contains(id)), "{label}");
        }
        let levels: Vec<u32> =
            tags(&page).into_iter().filter_map(|tag| tag.strip_prefix('h')?.parse().ok()).collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
        assert_eq!(levels[0], 1);
        assert!(levels.windows(2).all(|pair| pair[1] <= pair[0] + 1), "{levels:?}");
    }
}

#[test]
fn the_same_assessment_gives_the_same_page() {
    for assessment in all() {
        assert_eq!(page(&assessment), page(&assessment.clone()));
    }
    assert_eq!(compared(), compared());
}

#[test]
fn a_record_that_is_not_whole_says_so_first() {
    let mut assessment = made::rich();
    assessment.end = End::Missing;
    assessment.damage = vec!["line 17 is broken: EOF".to_string()];
    let page = page(&assessment);
    let text = read(&page);
    let (before, _) = text.split_once("Answer\n").expect("the answer comes");
    for said in ["The record has no end", "ine 17 is broken: EOF."] {
        assert!(before.to_lowercase().contains(&said.to_lowercase()), "{before}");
    }
    assert!(
        read(&crate::tests::forms::page(&super::build::assessment("empty", Vec::new())))
            .contains("No case was measured.")
    );
}

#[test]
fn of_very_many_cases_the_first_are_shown() {
    let mut assessment = made::methods();
    let one = assessment.cases[0].clone();
    assessment.cases = (0..3_000)
        .map(|index| {
            let mut summary = one.clone();
            summary.id = format!("{} {index}", one.id);
            summary
        })
        .collect();
    let page = page(&assessment);
    assert!(page.contains("The first 400 of 3000 rows"));
    assert!(page.contains("The first 150 of 3000 cases"));
    assert!(page.len() < 3_000_000, "{}", page.len());
}

/// An assessment with `text` wherever a record has a text of its own.
fn hostile(text: &str) -> Assessment {
    let mut assessment = made_writing::strategies();
    let rich = made::rich();
    assessment.header.began = text.to_string();
    assessment.header.tool.name = text.to_string();
    assessment.header.tool.version = text.to_string();
    assessment.header.tool.command = vec!["ioassay".to_string(), text.to_string()];
    let host = &mut assessment.header.host;
    for field in [&mut host.name, &mut host.os, &mut host.cpu] {
        *field = text.to_string();
    }
    host.hypervisor = Some(text.to_string());
    host.clock_source = Some(text.to_string());
    let storage = assessment.header.storage.as_mut().expect("it writes");
    for field in [&mut storage.file_system, &mut storage.mount_options] {
        *field = text.to_string();
    }
    storage.directory = text.into();
    storage.mount_point = text.into();
    storage.notes = vec![text.to_string()];
    for device in &mut storage.devices {
        device.name = text.to_string();
        device.model = Some(text.to_string());
    }
    assessment.header.source_storage = Some(storage.clone());
    assessment.findings = rich.findings;
    for found in &mut assessment.findings {
        found.finding.message = text.to_string();
        found.finding.remedy = text.to_string();
        found.cases = vec![text.to_string()];
    }
    let case = assessment.cases[0].case.clone();
    assessment.skips = vec![Skip { case, reason: text.to_string() }];
    for summary in &mut assessment.cases {
        summary.id = format!("{text} {}", summary.id);
        summary.case.peer = text.to_string();
        summary.failures = vec![(Failure::Failed(text.to_string()), 1)];
    }
    for file in &mut assessment.header.fixtures {
        file.path = text.into();
    }
    assessment.damage = vec![text.to_string()];
    assessment
}

/// The tags that pictures are made of: how many there are of each depends on how long texts are.
const PICTURE_TAGS: [&str; 10] =
    ["svg", "g", "title", "desc", "text", "rect", "line", "polyline", "polygon", "circle"];

/// Checks that `text` in a record changes no tag of its page, and leads nowhere.
fn check_harmless(text: &str) {
    let (plain, said) = (page(&hostile("plain")), page(&hostile(text)));
    let outside: HashSet<&str> = tags(&plain).into_iter().chain(PICTURE_TAGS).collect();
    for tag in tags(&said) {
        assert!(outside.contains(tag.trim_start_matches('/')), "<{tag}> of {text:?}");
    }
    let seen = said.chars().filter(|c| c.is_control() && *c != '\n').count();
    assert_eq!(seen, 0, "{text:?}");
    let (plain, said) = (without(&plain, "svg"), without(&said, "svg"));
    assert_eq!(tags(&said), tags(&plain), "{text:?}");
    assert_eq!(values(&said, "href"), values(&plain, "href"), "{text:?}");
    assert_eq!(values(&said, "id"), values(&plain, "id"), "{text:?}");
}

#[test]
fn no_record_changes_its_page() {
    for text in [
        "<script>alert(1)</script>",
        "\"><img src=x onerror=alert(1)>",
        "' onload='alert(1)",
        "</style></title></svg><script>",
        "<!-- --> ]]>",
        "&lt;b&gt; &#60;b&#62;",
        "\u{1b}[2J\u{0}\u{8}\u{202e}",
        "javascript:alert(1)",
        "`${alert(1)}`",
    ] {
        check_harmless(text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_text_of_a_record_changes_its_page(text in "x[<>&\"'/=\\-a-z\\PC]{0,40}") {
        check_harmless(&text);
    }
}
