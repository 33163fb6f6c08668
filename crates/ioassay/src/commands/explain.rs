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

/// What a reader who has only this section lacks.
const LEGEND: &str = "† a threshold of ioassay's own, from simulation or measurement.\n\
                      docs/method defines the terms, and has the other sections.";

/// Explains a finding, or lists all of them.
///
/// # Errors
/// If there is no such finding.
pub fn execute(code: Option<&str>, style: &Style) -> Result<Status> {
    match code {
        Some(given) => {
            let code = find(given)?;
            let text = plain(section(code).unwrap_or_default());
            let text = format!("{text}\n\n{LEGEND}");
            say(&format!("{code}\n\n{}", report::paragraphs(&text, style)))?;
        }
        None => {
            let first = |code: &Code| plain(&first_sentence(section(*code).unwrap_or_default()));
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

/// The definition of a finding in its page: the text below `## Code`, up to the next heading.
fn section(code: Code) -> Option<&'static str> {
    let heading = format!("\n## {code}\n");
    let mut pages = PAGES.files().filter_map(|page| page.contents_utf8());
    let text = pages.find_map(|page| Some(page.split_once(&heading)?.1))?;
    let end = text.find("\n#").unwrap_or(text.len());
    Some(text[..end].trim())
}

/// Markdown as it reads on a terminal: names in quotes, and nothing emphasized.
fn plain(markdown: &str) -> String {
    markdown.replace('*', "").replace('`', "'")
}

/// The first sentence of the definition, up to a colon or semicolon, without the leading severity
/// and the marks of thresholds.
fn first_sentence(section: &str) -> String {
    let paragraph = section.split("\n\n").next().unwrap_or_default();
    let text = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = match text.strip_prefix('*').and_then(|rest| rest.split_once('*')) {
        Some((_, rest)) => rest.trim_start(),
        None => &text,
    };
    let text = text.replace('†', "");
    let end = [". ", ": ", "; "].iter().filter_map(|mark| text.find(mark)).min();
    format!("{}.", text[..end.unwrap_or(text.len())].trim_end_matches(['.', ':']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_is_explained() {
        for code in Code::ALL {
            let text = section(*code).unwrap_or_else(|| panic!("{code} has no section"));
            assert!(text.len() > 40 && !text.contains("\n#"), "{code}: {text}");
            let first = first_sentence(text);
            assert!(first.len() > 10 && first.ends_with('.'), "{code}: {first}");
            assert!(!first.starts_with('*'), "{code}: {first}");
        }
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
