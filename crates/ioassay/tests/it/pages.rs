//! HTML reports in a browser: on a desktop and a phone, light and dark.

use crate::sandbox::{HANGS, Sandbox, argument, skip, text};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Window widths of a desktop and a phone, in CSS pixels.
const WIDTHS: [u32; 2] = [1280, 390];

/// The browser setting for each color scheme, and whether it is dark.
const SCHEMES: [(&str, bool); 2] =
    [("preferredColorScheme=1", false), ("preferredColorScheme=0", true)];

const INSPECTION: &str = include_str!("pages.js");

/// Finds a browser; if there is none, reports the skipped `test`.
fn browser(test: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let named = |name: &'static str| std::env::split_paths(&folders).map(move |f| f.join(name));
    let found = ["chromium", "chromium-headless-shell"].into_iter().flat_map(named);
    let found = found.into_iter().find(|path| path.is_file());
    if found.is_none() {
        skip(test, "there is no chromium");
    }
    found
}

/// The inspected properties of a page.
#[derive(Debug)]
struct Seen {
    is_dark: bool,
    ground: f64,
    texts: u64,
    pictures: u64,
    faults: Vec<String>,
}

/// Shows pages in one browser window. Returns the properties of each page and the browser's
/// messages.
fn look(browser: &Path, pages: &[&str], width: u32, scheme: &str) -> (Vec<Seen>, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let harness = folder.path().join("harness.html");
    let quoted = |page: &&str| page.replace('&', "&amp;").replace('"', "&quot;");
    let frame = |page: &&str| {
        format!("<iframe width={width} height=900 srcdoc=\"{}\"></iframe>\n", quoted(page))
    };
    let frames: String = pages.iter().map(frame).collect();
    let style = "iframe { border: 0; display: block } body { margin: 0 }";
    let text = format!(
        "<!doctype html><meta charset=utf-8><meta name=color-scheme content='light dark'>\
         <style>{style}</style><script>{INSPECTION}</script>{frames}"
    );
    std::fs::write(&harness, text).unwrap();
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]);
    command.args(["--no-first-run", "--enable-logging=stderr", "--virtual-time-budget=20000"]);
    command.arg(format!("--window-size={},1000", width.max(500)));
    command.arg(format!("--blink-settings={scheme}"));
    command.arg(format!("--user-data-dir={}", folder.path().join("profile").display()));
    command.env("HOME", folder.path());
    command.arg("--dump-dom").arg(format!("file://{}", harness.display()));
    let output = assert_cmd::Command::from_std(command).timeout(HANGS).output().unwrap();
    let (dom, log) = (text_of(&output.stdout), text_of(&output.stderr));
    let json = dom.split_once("<body>found:").and_then(|(_, rest)| rest.split_once(":found"));
    let (json, _) = json.unwrap_or_else(|| panic!("nothing was inspected: {dom}\n{log}"));
    let found: Value = serde_json::from_str(json).unwrap();
    let said = log.lines().filter(|line| line.contains("CONSOLE")).map(str::to_string).collect();
    (found.as_array().unwrap().iter().map(seen).collect(), said)
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn seen(found: &Value) -> Seen {
    let faults = found["faults"].as_array().unwrap().iter();
    Seen {
        is_dark: found["scheme"] == "dark",
        ground: found["ground"].as_f64().unwrap(),
        texts: found["texts"].as_u64().unwrap(),
        pictures: found["pictures"].as_u64().unwrap(),
        faults: faults.map(|fault| fault.as_str().unwrap().to_string()).collect(),
    }
}

/// The HTML report of the run or record in `args`.
fn page(sandbox: &Sandbox, name: &str, args: &[&str]) -> String {
    let html = format!("{name}.html");
    let output = sandbox.ioassay(&[args, &["--html", &html]].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{args:?}: {output:?}");
    assert!(text(&output.stderr).contains(&format!("page: {html}\n")), "{output:?}");
    std::fs::read_to_string(sandbox.path(&html)).unwrap()
}

/// The named pages of real records: the kept ones, and one with writes.
fn pages(sandbox: &Sandbox) -> Vec<(&'static str, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../records");
    let kept = |name: &'static str| folder.join(format!("2026-11-22-{name}.jsonl"));
    let of_kept = |name| (name, page(sandbox, name, &["report", argument(&kept(name))]));
    let mut pages: Vec<(&str, String)> =
        ["survey", "slow", "advice", "depth", "control"].map(of_kept).into();
    let args = ["run", "write-strategies", ".", "--rounds=7", "--size=1MiB", "--time=5ms"];
    let few = ["--block=64KiB", "--peer=rust"];
    pages.push(("writing", page(sandbox, "writing", &[&args[..], &few].concat())));
    let (slow, control) = (kept("slow"), kept("control"));
    let compare = ["compare", argument(&slow), argument(&control), "--anyway"];
    pages.push(("compared", page(sandbox, "compared", &compare)));
    let record = std::fs::read_to_string(kept("depth")).unwrap();
    std::fs::write(sandbox.path("failed.jsonl"), failed(&record)).unwrap();
    pages.push(("failed", page(sandbox, "failed", &["report", "failed.jsonl"])));
    pages
}

/// The record with only failed trials and without its end.
fn failed(record: &str) -> String {
    let fail = |line: &str| {
        let mut line: Value = serde_json::from_str(line).unwrap();
        let reason = "the worker ended with <exit status 137> & \"no last words\"";
        line["trial"]["outcome"] = serde_json::json!({ "failed": { "reason": reason } });
        line.to_string()
    };
    let (header, rest) = record.split_once('\n').unwrap();
    let trials = rest.lines().filter(|line| line.starts_with("{\"trial\"")).map(fail);
    [header.to_string()].into_iter().chain(trials).collect::<Vec<_>>().join("\n")
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn pages_are_whole_in_a_browser() {
    let windows = [(WIDTHS[0], SCHEMES[0]), (WIDTHS[1], SCHEMES[1])];
    check_pages("pages_are_whole_in_a_browser", &windows);
}

/// Checks pages in all windows: a desktop's and a phone's, light and dark.
pub(crate) fn check_all_windows(test: &str) {
    let windows = WIDTHS.map(|width| SCHEMES.map(|scheme| (width, scheme)));
    check_pages(test, windows.as_flattened());
}

/// Checks pages in windows of these widths, with these color schemes.
fn check_pages(test: &str, windows: &[(u32, (&str, bool))]) {
    let Some(browser) = browser(test) else { return };
    let sandbox = Sandbox::new();
    let pages = pages(&sandbox);
    let survey = &pages[0].1;
    assert!(survey.len() < 500_000, "a survey has {} bytes", survey.len());
    let texts: Vec<&str> = pages.iter().map(|(_, page)| page.as_str()).collect();
    for &(width, (scheme, is_dark)) in windows {
        let (seen, said) = look(&browser, &texts, width, scheme);
        assert_eq!(said, [""; 0], "{width} {scheme}");
        assert_eq!(seen.len(), pages.len());
        for (seen, (name, _)) in seen.iter().zip(&pages) {
            let what = format!("{name} at {width}, {scheme}: {seen:#?}");
            assert_eq!(seen.faults, [""; 0], "{what}");
            assert_eq!((seen.is_dark, seen.ground < 0.2), (is_dark, is_dark), "{what}");
            assert!(seen.texts > 40, "{what}");
            assert!(seen.pictures > 0 || *name == "failed", "{what}");
        }
    }
}

/// A page whose only fault is in `body`.
fn planted(body: &str) -> String {
    format!("<!doctype html><html lang=en><meta charset=utf-8><body>{body}</body></html>")
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn what_is_wrong_with_a_page_is_seen() {
    let Some(browser) = browser("what_is_wrong_with_a_page_is_seen") else { return };
    let svg = "<svg width=200 height=100 viewBox='0 0 200 100'>";
    let planted = [
        ("", planted("<p>Nothing is wrong with this.</p>")),
        (
            "",
            planted(&format!(
                "{svg}<rect width=200 height=100 fill='#024'/>\
                 <text x=9 y=50 fill='#fff'>a</text></svg>"
            )),
        ),
        ("wide", planted("<p style='width: 3000px'>x</p>")),
        ("reaches out", planted("<p style='position: relative; left: -20px'>x</p>")),
        (
            "wider than its box",
            planted("<p style='width: 20px; overflow: hidden'>extraordinarily</p>"),
        ),
        (
            "lies over",
            planted(&format!("{svg}<text x=9 y=50>one</text><text x=12 y=52>two</text></svg>")),
        ),
        ("lies over", planted("<p style='margin: 0'>one</p><p style='margin: -1em 0 0'>two</p>")),
        ("within its picture", planted(&format!("{svg}<text x=190 y=50>cut off</text></svg>"))),
        ("contrast", planted("<p style='color: #999'>pale</p>")),
        (
            "contrast",
            planted("<details><summary>x</summary><p style='color: #999'>pale</p></details>"),
        ),
        (
            "contrast",
            planted(&format!(
                "{svg}<rect width=200 height=100 fill='#024'/><text x=9 y=50>dark</text></svg>"
            )),
        ),
    ];
    let texts: Vec<&str> = planted.iter().map(|(_, page)| page.as_str()).collect();
    let (seen, said) = look(&browser, &texts, 600, "preferredColorScheme=1");
    assert_eq!(said, [""; 0]);
    for (seen, (expected, page)) in seen.iter().zip(&planted) {
        let is_seen = seen.faults.iter().any(|fault| fault.contains(expected));
        let is_right = if expected.is_empty() { seen.faults.is_empty() } else { is_seen };
        assert!(is_right, "'{expected}' in {page}: {seen:?}");
    }
    let loud = "<!doctype html><script>console.error('planted')</script><p>x</p>";
    let (_, said) = look(&browser, &[loud], 600, "preferredColorScheme=1");
    assert!(said.iter().any(|line| line.contains("planted")), "{said:?}");
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn a_table_may_be_scrolled_on_a_phone_only() {
    let Some(browser) = browser("a_table_may_be_scrolled_on_a_phone_only") else { return };
    let wide = planted("<div style='overflow-x: auto'><p style='width: 3000px'>x</p></div>");
    for (width, is_fault) in [(1280, true), (390, false)] {
        let (seen, _) = look(&browser, &[&wide], width, "preferredColorScheme=1");
        assert_eq!(!seen[0].faults.is_empty(), is_fault, "at {width}: {seen:?}");
    }
}

#[test]
fn a_page_replaces_a_page_and_nothing_else() {
    let sandbox = Sandbox::new();
    let run = ["run", "page-latency", ".", "--size=64KiB", "--time=1ms", "--rounds=1"];
    let (cache, record) = (["--cache=as-is", "--record=record"], sandbox.path("record"));
    std::fs::write(sandbox.path("thesis"), "years of work").unwrap();
    sandbox.refuses(
        &[&run[..], &cache, &["--html=thesis"]].concat(),
        &["the report 'thesis'", "is not a report of ioassay: name another file"],
    );
    sandbox.refuses(&[&run[..], &cache, &["--html=none/page"]].concat(), &["No such file"]);
    let first = page(&sandbox, "page", &[&run[..], &cache].concat());
    // The same record produces the same bytes, and replaces the first page.
    assert_eq!(page(&sandbox, "page", &["report", argument(&record)]), first);
    assert!(first.starts_with("<!DOCTYPE html><!-- made by ioassay "), "{}", &first[..60]);
    let said = sandbox.ioassay(&["report", "record", "--html", "thesis"]);
    assert_eq!(said.status.code(), Some(2));
    assert!(text(&said.stderr).contains("name another file"));
    assert_eq!(std::fs::read_to_string(sandbox.path("thesis")).unwrap(), "years of work");
}
