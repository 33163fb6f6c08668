//! The layout of every page, and elements that several pages use.

use crate::MARK;
use crate::picture::{Picture, scheme_css};
use crate::words::NONE;
use assess::finding::{Severity, Verdict};
use maud::{DOCTYPE, Markup, PreEscaped, html};

/// The style of all pages.
const CSS: &str = include_str!("page.css");

/// No scripts and no external content: even if a record injected a tag, it would do nothing.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// A page, before rendering.
pub(super) struct Sheet {
    /// Its title.
    pub(super) title: String,
    /// When the run began.
    pub(super) when: Option<String>,
    /// Where the record was made, in lines.
    pub(super) about: Vec<String>,
    /// What a reader must know first.
    pub(super) warnings: Vec<String>,
    /// The sections; empty ones are omitted.
    pub(super) sections: Vec<Section>,
}

/// A section, listed in the table of contents.
pub(super) struct Section {
    anchor: &'static str,
    title: &'static str,
    body: Markup,
}

impl Section {
    pub(super) fn new(anchor: &'static str, title: &'static str, body: Markup) -> Section {
        Section { anchor, title, body }
    }
}

impl Sheet {
    pub(super) fn render(mut self) -> String {
        self.sections.retain(|section| !section.body.0.is_empty());
        let version = env!("CARGO_PKG_VERSION");
        let when = self.when.as_ref();
        let page = html! {
            (DOCTYPE)
            (PreEscaped(format!("<!-- {MARK} {version} -->\n")))
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(POLICY);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) @if let Some(when) = when { ", " (when) } " · ioassay" }
                    style { (PreEscaped(CSS)) (PreEscaped(scheme_css())) }
                }
                body {
                    a.skip href="#main" { "Skip to the answer" }
                    (self.head())
                    main #main {
                        @for section in &self.sections { (section.render()) }
                    }
                    footer { p { "Made by ioassay " (version) " from a record, and from nothing "
                        "else: the same record gives the same page." } }
                }
            }
        };
        harmless(&page.0)
    }

    fn head(&self) -> Markup {
        html! {
            header {
                h1 { (self.title) }
                @if let Some(when) = &self.when { p.when { time { (when) } } }
                @for line in &self.about { p.about { (line) } }
                @if !self.warnings.is_empty() {
                    div.warning role="note" {
                        p { strong { "This record is not whole." } }
                        (list(&self.warnings, &|text| html! { (text) }))
                    }
                }
            }
            nav aria-label="Contents" {
                ul {
                    @for Section { anchor, title, .. } in &self.sections {
                        li { a href={ "#" (anchor) } { (title) } }
                    }
                }
            }
        }
    }
}

impl Section {
    fn render(&self) -> Markup {
        let heading = format!("{}-title", self.anchor);
        html! {
            section id=(self.anchor) aria-labelledby=(heading) {
                h2 id=(heading) { (self.title) }
                (self.body)
            }
        }
    }
}

/// Removes characters that are invisible but change what a reader sees. Of such characters, pages
/// themselves use only line ends.
fn harmless(page: &str) -> String {
    let lines: Vec<_> = page.split('\n').map(model::printable::printable).collect();
    lines.join("\n")
}

/// Longer lists are cut off, with a count of the rest.
const LISTED_MAX: usize = 100;

/// A list; if it is long, only its first entries and a count of the rest.
pub(super) fn list<T>(entries: &[T], show: &dyn Fn(&T) -> Markup) -> Markup {
    let more = entries.len().saturating_sub(LISTED_MAX);
    html! {
        ul {
            @for entry in entries.iter().take(LISTED_MAX) { li { (show(entry)) } }
            @if more > 0 { li { "and " (more) " more" } }
        }
    }
}

/// A table that scrolls if it is wider than the window.
pub(super) fn scroll(caption: &str, table: Markup) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label=(caption) {
            table {
                caption { (caption) }
                (table)
            }
        }
    }
}

/// Known values with their names; unknown ones are omitted.
pub(super) fn facts(known: Vec<(&str, String)>) -> Markup {
    let known = known.iter().filter(|(_, value)| !value.is_empty() && value != NONE);
    html! {
        dl {
            @for (what, value) in known { div { dt { (what) } dd { (value) } } }
        }
    }
}

/// The maximum size of all pictures together; the others are omitted, and named.
const PICTURES_BYTES_MAX: usize = 1 << 20;

/// The pictures, with their titles.
pub(super) fn pictures(figures: &[Picture]) -> Markup {
    let mut room = PICTURES_BYTES_MAX;
    let (shown, left_out): (Vec<&Picture>, Vec<&Picture>) = figures.iter().partition(|figure| {
        let rest = room.checked_sub(figure.svg.len());
        room = rest.unwrap_or(room);
        rest.is_some()
    });
    let left_out: Vec<&str> = left_out.iter().map(|figure| figure.title.as_str()).collect();
    html! {
        @if !shown.is_empty() {
            div.pictures {
                @for figure in &shown {
                    figure {
                        figcaption { (figure.title) }
                        (PreEscaped(&figure.svg))
                    }
                }
            }
        }
        @if !left_out.is_empty() {
            p.hint { "Left out, for of so many cases they are too large:" }
            (list(&left_out, &|title| html! { (title) }))
        }
    }
}

/// The CSS class of a verdict.
pub(super) fn class_of(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Sound => "sound",
        Verdict::Doubtful => "doubtful",
        _ => "void",
    }
}

/// The CSS class of a severity.
pub(super) fn class_of_severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Doubt => "doubtful",
        Severity::Void => "void",
    }
}

/// A word on a colored background; readable without the color, too.
pub(super) fn badge(class: &str, text: &str) -> Markup {
    html! { span class={ "badge " (class) } { (text) } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_seen_is_made_visible() {
        assert_eq!(harmless("a\u{1b}[2J\u{202e}b\n"), "a\u{fffd}[2J\u{fffd}b\n");
    }

    #[test]
    fn of_many_entries_the_first_are_listed() {
        let many: Vec<usize> = (0..130).collect();
        let said = list(&many, &|entry| html! { (entry) }).0;
        assert_eq!(said.matches("<li>").count(), LISTED_MAX + 1);
        assert!(said.contains("and 30 more"), "{said}");
    }

    #[test]
    fn pictures_beyond_the_limit_are_named() {
        let figure = |title: &str, bytes: usize| Picture {
            name: title.to_string(),
            title: title.to_string(),
            alt: String::new(),
            svg: "x".repeat(bytes),
        };
        let large = PICTURES_BYTES_MAX / 3 * 2;
        let said = pictures(&[figure("one", large), figure("two", large), figure("three", 9)]).0;
        let (shown, left_out) = said.split_once("Left out").expect("one picture is too large");
        assert!(shown.contains("one") && shown.contains("three") && !shown.contains("two"));
        assert!(left_out.contains("two") && !left_out.contains("three"), "{left_out}");
        assert!(!pictures(&[figure("one", 9)]).0.contains("Left out"));
    }
}
