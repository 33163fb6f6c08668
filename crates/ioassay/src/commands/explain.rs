//! `ioassay explain`: what a finding means, quoted from docs/method/findings.

use super::{list, say};
use crate::status::Status;
use anyhow::Result;
use assess::finding::Code;
use include_dir::{Dir, include_dir};
use model::units;
use report::Style;

/// The pages that define the findings, embedded in the program.
static PAGES: Dir = include_dir!("$CARGO_MANIFEST_DIR/findings");

/// Where the pages are, for a reader of this text.
const PLACE: &str = "docs/method/findings";

/// Explains a finding, or lists all of them.
///
/// # Errors
/// If there is no such finding.
pub fn execute(code: Option<&str>, style: &Style) -> Result<Status> {
    match code {
        Some(given) => {
            let code = find(given)?;
            say(&format!("{code}\n\n{}", report::paragraphs(&explained(code), style)))?;
        }
        None => {
            let first = |code: &Code| plain(&first_sentence(definition(*code).1));
            list(Code::ALL.iter().map(|code| (code.name(), first(code))), style)?;
        }
    }
    Ok(Status::DONE)
}

/// Finds a finding by name, ignoring case.
fn find(given: &str) -> Result<Code> {
    let is_it = |code: &&Code| code.name().eq_ignore_ascii_case(given.trim());
    let names: Vec<&str> = Code::ALL.iter().map(|code| code.name()).collect();
    let found = Code::ALL.iter().find(is_it).copied();
    found.ok_or_else(|| {
        // Search in lower case, as users type it.
        let small: Vec<String> = names.iter().map(|name| name.to_lowercase()).collect();
        let small: Vec<&str> = small.iter().map(String::as_str).collect();
        let nearest = units::nearest(given, &small);
        let nearest = nearest.and_then(|near| small.iter().position(|name| *name == near));
        let hint = nearest.map_or(String::new(), |at| format!(" (did you mean '{}'?)", names[at]));
        anyhow::anyhow!("unknown finding '{given}'{hint}; known are {}", names.join(", "))
    })
}

/// What a finding means, how it is found and what to do, with what a reader of this alone lacks.
fn explained(code: Code) -> String {
    let (page, section) = definition(code);
    let marks = match section.contains('†') {
        true => ", and marks the thresholds that are ioassay's own, from simulation or measurement",
        false => "",
    };
    format!(
        "{}\n\nA note is worth knowing, and the figure is valid. With a doubt, the figure may not \
         mean what it says; with a void, it does not. {PLACE}/{page} has related findings{marks}.",
        plain(section)
    )
}

/// The page that defines a finding, and the text there below `## Code`, up to the next heading.
fn definition(code: Code) -> (&'static str, &'static str) {
    let heading = format!("\n## {code}\n");
    let mut pages = PAGES.files().filter_map(|page| {
        let (_, text) = page.contents_utf8()?.split_once(&heading)?;
        Some((page.path().to_str()?, text))
    });
    let (page, text) = pages.next().expect("tidy checks that each finding has a section");
    let end = text.find("\n#").unwrap_or(text.len());
    (page, text[..end].trim())
}

/// Markdown as it reads on a terminal: names in quotes, nothing emphasized, and no marks of
/// thresholds. A link is the title and the document that it leads to.
fn plain(markdown: &str) -> String {
    let mut said = String::new();
    let mut rest = markdown;
    while let Some((before, title, target, after)) = next_link(rest) {
        let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
        said += &format!("{before}\"{title}\" in {}", document(target));
        rest = after;
    }
    said += rest;
    said.replace(['*', '†'], "").replace('`', "'")
}

/// The next link of a text: what is before it, its title, its target, and what follows.
fn next_link(markdown: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, after) = markdown.split_once("](")?;
    let (before, title) = before.rsplit_once('[')?;
    let (target, after) = after.split_once(')')?;
    Some((before, title, target, after))
}

/// The document that a link of these pages leads to, without the section.
fn document(target: &str) -> String {
    let mut parts: Vec<&str> = PLACE.split('/').collect();
    for part in target.split('#').next().unwrap_or_default().split('/') {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    parts.join("/")
}

/// The first sentence of the definition, up to a colon, a semicolon or a reference, without the
/// leading severity.
fn first_sentence(section: &str) -> String {
    let paragraph = section.split("\n\n").next().unwrap_or_default();
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.strip_prefix('*').and_then(|rest| rest.split_once('*')) {
        Some((_, rest)) => rest.trim_start(),
        None => &text,
    };
    let end = [". ", ": ", "; ", " (see ["].iter().filter_map(|mark| text.find(mark)).min();
    format!("{}.", text[..end.unwrap_or(text.len())].trim_end_matches(['.', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_explained_in_plain_text_with_a_remedy() {
        for code in Code::ALL {
            let (_, section) = definition(*code);
            let (meaning, remedy) = section.split_once("*Remedy:* ").unwrap_or_default();
            assert!(meaning.len() > 40 && meaning.ends_with("\n\n"), "{code}: {section}");
            assert!(remedy.len() > 10 && !remedy.contains("\n\n"), "{code}: {section}");
            let said = explained(*code);
            assert!(said.contains("\n\nRemedy: "), "{code}: {said}");
            let marks = ["](", "†", "\\", "*", "`", "\n#"];
            assert!(marks.iter().all(|mark| !said.contains(mark)), "{code}: {said}");
            let first = plain(&first_sentence(section));
            assert!(first.len() > 10 && first.ends_with('.'), "{code}: {first}");
        }
    }

    #[test]
    fn a_link_is_its_title_and_the_document() {
        let said = plain("*Void.* Above 5 %† (see [What a\nlink carries](../../path.md#what)).");
        assert_eq!(said, "Void. Above 5 % (see \"What a link carries\" in docs/path.md).");
        assert_eq!(
            plain("[Caches](../memory.md), `x`"),
            "\"Caches\" in docs/method/memory.md, 'x'"
        );
    }

    #[test]
    fn a_finding_is_found_in_any_letters() {
        for given in ["CacheLeak", "cacheleak", " CACHELEAK "] {
            assert_eq!(find(given).unwrap(), Code::CacheLeak);
        }
        let error = find("cacheleek").unwrap_err().to_string();
        assert!(error.contains("did you mean 'CacheLeak'?"), "{error}");
    }
}
