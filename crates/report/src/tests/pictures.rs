//! Every picture of every assessment: whole, legible, and the same each time.

use super::one_value::{record, works};
use super::{all, made, made_memory, made_writing, two_records};
use crate::Picture;
use crate::drawing::width as text_width;
use crate::tests::forms::{picture_alone, pictures, pictures_of_records};
use assess::Assessment;
use assess::finding::Verdict;
use assess::fleet::FleetRecords;
use assess::link_use::LinkUse;
use assess::path::allowed;
use insta::assert_snapshot;
use model::path::{Hop, HopKind, LinkHop, LinkSpeed};
use model::trial::Trial;
use roxmltree::{Document, Node};
use std::collections::HashSet;
use std::convert::Infallible;

/// All pictures there are.
fn all_pictures() -> Vec<Picture> {
    let (a, b) = two_records(1.25);
    let of_records = pictures_of_records(&super::compare(&a, &b));
    all().iter().flat_map(pictures).chain(of_records).chain(of_hosts()).collect()
}

/// Those of hosts together, and of hosts that should be alike, of which one is slow.
fn of_hosts() -> Vec<Picture> {
    let host = |number: usize| {
        let name = format!("host-{number}");
        let mut all = works().into_iter().map(|work| record(&work, &name));
        let mut one = all.next().expect("there is work");
        for other in all {
            let first = one.header.plan.cases.len();
            one.header.plan.cases.extend(other.header.plan.cases);
            let moved = |trial: Trial| Trial { case: trial.case + first, ..trial };
            one.trials.extend(other.trials.into_iter().map(moved));
        }
        one
    };
    let mut gathering = FleetRecords::default();
    for number in 0..5 {
        gathering.add(&host(number), &format!("{number}.jsonl")).expect("they are few");
    }
    let read = |number: usize| Ok::<_, Infallible>(host(number));
    let together = assess::together(3, read).expect("memory is read").expect("there are hosts");
    let fleet = gathering.judge();
    let documents = [crate::fleet(&fleet), crate::together(&together)];
    documents.iter().flat_map(|document| document.pictures().cloned()).collect()
}

#[test]
fn hosts_have_pictures() {
    let names: Vec<String> = of_hosts().into_iter().map(|picture| picture.name).collect();
    assert_eq!(names, ["hosts", "together"]);
}

fn names(assessment: &Assessment) -> Vec<String> {
    pictures(assessment).into_iter().map(|figure| figure.name).collect()
}

fn named(assessment: &Assessment, name: &str) -> Picture {
    let found = pictures(assessment).into_iter().find(|figure| figure.name == name);
    found.unwrap_or_else(|| panic!("there is no {name} among {:?}", names(assessment)))
}

/// The texts of a picture, a space between two.
fn texts(figure: &Picture) -> String {
    let svg = figure.svg();
    let document = Document::parse(&svg).unwrap();
    let texts = document.descendants().filter(|node| node.has_tag_name("text"));
    texts.filter_map(|node| node.text()).map(str::trim).collect::<Vec<_>>().join(" ")
}

/// Where a text is, in pixels of the view box.
#[derive(Debug, Clone)]
struct Directories {
    text: String,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

/// The size of all texts, and how much of it a line of small and capital letters takes.
const SIZE: f64 = 12.0;
const HIGH: f64 = 0.9;

fn number(node: &Node, name: &str) -> f64 {
    let text = node.attribute(name).unwrap_or_else(|| panic!("{node:?} has no {name}"));
    text.parse().unwrap_or_else(|_| panic!("{name} '{text}' is no number"))
}

fn place(node: &Node) -> Directories {
    let (x, y) = (number(node, "x"), number(node, "y"));
    let text = node.text().unwrap_or_default().trim().to_string();
    let bold = if node.attribute("font-weight") == Some("bold") { 1.12 } else { 1.0 };
    let wide = text_width(&text) * bold;
    let left = match node.attribute("text-anchor") {
        Some("start") => x,
        Some("middle") => x - wide / 2.0,
        Some("end") => x - wide,
        other => panic!("{other:?} is no anchor"),
    };
    let half = SIZE * HIGH / 2.0;
    Directories { text, left, right: left + wide, top: y - half, bottom: y + half }
}

fn view_box(document: &Document) -> (f64, f64) {
    let view = document.root_element().attribute("viewBox").expect("a picture has a view box");
    let numbers: Vec<f64> = view.split(' ').map(|text| text.parse().unwrap()).collect();
    assert_eq!(numbers[..2], [0.0, 0.0], "{view}");
    (numbers[2], numbers[3])
}

#[test]
fn every_picture_is_whole_and_says_what_it_is() {
    for assessment in all() {
        let figures = pictures(&assessment);
        let mut ids: HashSet<String> = HashSet::new();
        for figure in &figures {
            let Picture { name, title, alt, .. } = figure;
            let svg = &figure.svg();
            let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
            assert!(name.chars().all(is_plain) && !name.starts_with('-'), "{name}");
            assert!(title.starts_with(|c: char| c.is_uppercase()), "{name}: {title}");
            assert!(title.chars().count() > 4 && alt.ends_with('.'), "{name}: {title}, {alt}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name}: {svg}");
            let document = Document::parse(svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
            let root = document.root_element();
            assert_eq!((root.tag_name().name(), root.attribute("role")), ("svg", Some("img")));
            let children: Vec<Node> = root.children().filter(Node::is_element).collect();
            assert_eq!(children[0].text(), Some(title.as_str()));
            assert_eq!(children[1].text(), Some(alt.as_str()));
            let labelled = root.attribute("aria-labelledby").unwrap_or_default();
            let all_ids: Vec<&str> =
                document.descendants().filter_map(|node| node.attribute("id")).collect();
            assert!(labelled.split(' ').all(|id| all_ids.contains(&id)), "{labelled}");
            for id in all_ids {
                assert!(
                    ids.insert(id.to_string()),
                    "{id} is twice in {:?}",
                    assessment.header.plan.recipe
                );
            }
        }
    }
}

#[test]
fn no_text_leaves_its_picture_or_lies_on_another() {
    for picture in all_pictures() {
        let (name, svg) = (picture.name.clone(), picture.svg());
        let document = Document::parse(&svg).expect("it is valid");
        let (width, height) = view_box(&document);
        let is_text = |node: &Node| node.has_tag_name("text");
        let places: Vec<Directories> =
            document.descendants().filter(is_text).map(|node| place(&node)).collect();
        assert!(!places.is_empty(), "{name} has no text");
        for (index, one) in places.iter().enumerate() {
            let is_within = one.left >= -0.5 && one.right <= width + 0.5;
            let is_within = is_within && one.top >= -0.5 && one.bottom <= height + 0.5;
            let text = &one.text;
            assert!(is_within, "{name}, {width} × {height}: '{text}' at {one:?}");
            for other in &places[index + 1..] {
                let beside = one.right <= other.left || other.right <= one.left;
                let apart = beside || one.bottom <= other.top || other.bottom <= one.top;
                assert!(apart, "{name}: {one:?} lies on {other:?}");
            }
        }
    }
}

#[test]
fn no_shape_leaves_its_picture() {
    for picture in all_pictures() {
        let (name, svg) = (picture.name.clone(), picture.svg());
        let document = Document::parse(&svg).expect("it is valid");
        let (width, height) = view_box(&document);
        let within = |node: &Node, x: f64, y: f64| {
            let is_within = (-1.0..=width + 1.0).contains(&x) && (-1.0..=height + 1.0).contains(&y);
            assert!(is_within, "{name}, {width} × {height}: {node:?} at {x}, {y}");
        };
        for node in document.descendants() {
            match node.tag_name().name() {
                "rect" => {
                    let (x, y) = (number(&node, "x"), number(&node, "y"));
                    let (wide, high) = (number(&node, "width"), number(&node, "height"));
                    assert!(wide >= 0.0 && high >= 0.0, "{name}: {node:?} is turned over");
                    within(&node, x, y);
                    within(&node, x + wide, y + high);
                }
                "circle" => within(&node, number(&node, "cx"), number(&node, "cy")),
                "line" => {
                    within(&node, number(&node, "x1"), number(&node, "y1"));
                    within(&node, number(&node, "x2"), number(&node, "y2"));
                }
                "polyline" | "polygon" => {
                    let points = node.attribute("points").expect("it has points");
                    for point in points.split_whitespace() {
                        let (x, y) = point.split_once(',').expect("a point is two numbers");
                        within(&node, x.parse().unwrap(), y.parse().unwrap());
                    }
                }
                _ => {}
            }
        }
    }
}

#[test]
fn pictures_are_the_same_each_time() {
    for (one, other) in all_pictures().iter().zip(all_pictures()) {
        assert_eq!(*one, other);
    }
}

#[test]
fn a_picture_is_small() {
    let sizes = all_pictures().into_iter().map(|figure| (figure.svg().len(), figure.name));
    for (size, name) in sizes {
        assert!(size < 80_000, "{name}: {size} bytes");
    }
    let survey: usize = pictures(&made::rich()).iter().map(|figure| figure.svg().len()).sum();
    assert!(survey < 250_000, "{survey} bytes");
}

#[test]
fn each_recipe_has_the_pictures_that_suit_it() {
    let check = |assessment: &Assessment, expected: &[&str]| {
        let names = names(assessment);
        for name in expected {
            assert!(
                names.contains(&name.to_string()),
                "{}: no {name} in {names:?}",
                assessment.header.plan.recipe
            );
        }
        assert_eq!(names.first().map(String::as_str), expected.first().copied(), "{names:?}");
    };
    check(&made::rich(), &["ladder", "latency-read-random-4kib", "rate-over-time", "rounds"]);
    check(&made::methods(), &["heat-warm-sequential-4kib", "compared", "rounds"]);
    check(&made::pages(), &["heat-by-ops", "ladder", "latency-read-random-4kib"]);
    check(&made_memory::memory(), &["heat-memory-working-set-by-pages", "by-working-set"]);
    check(&made_memory::compilers(), &["ladder", "compared"]);
    check(&made_writing::strategies(), &["heat-ways-to-write", "rate-over-time", "rounds"]);
    check(&made_writing::syncs_of_a_disk(), &["heat-by-sync", "latency-sync-write-fdatasync"]);
    check(&made_writing::touching(), &["latency-write-strided-1b", "rounds"]);
    assert_eq!(names(&made::all_failed()), Vec::<String>::new());
}

/// Who takes equal steps for equal differences misreads it.
#[test]
fn a_logarithmic_axis_says_so() {
    let of_survey = |name: &str| texts(&named(&made::rich(), name));
    assert!(of_survey("ladder").contains("bytes a second (log)"));
    let latency = of_survey("latency-read-random-4kib");
    assert!(latency.contains("service time (closed loop, log)"), "{latency}");
    assert!(latency.contains("share of operations that took longer (log)"), "{latency}");
    assert!(!of_survey("rate-over-time").contains("log"));
}

/// With nothing beside it, a bar, a cell or a row of dots says no more than its number. A
/// distribution, a time series and a latency by load have many values of one case.
#[test]
fn a_single_case_is_held_against_no_other() {
    for assessment in all() {
        for one in &assessment.cases {
            let mut alone = assessment.clone();
            alone.cases.retain(|summary| summary.id == one.id);
            alone.comparisons.clear();
            let is_of_one = |name: &String| {
                ["latency", "rate-over-time", "response", "loaded-latency"]
                    .iter()
                    .any(|it| name.starts_with(it))
            };
            let names = names(&alone);
            // The rate until the last write and that until the last sync are two bars.
            let is_of_writes = one.case.write().is_some() && names.contains(&"ladder".to_string());
            assert!(is_of_writes || names.iter().all(is_of_one), "{}: {names:?}", one.id);
        }
    }
}

/// The void row of the survey is drawn, but in no colour of what served it, and named.
#[test]
fn a_void_bar_is_named_and_has_no_colour_of_a_server() {
    let sound = pictures(&made::tmpfs()).remove(0);
    assert!(!texts(&sound).contains("void"), "{}", texts(&sound));
    let ladder = named(&made::rich(), "ladder");
    let said = texts(&ladder);
    assert!(said.contains("(705 MB/s) void"), "{said}");
    assert!(said.contains("391 MB/s ?"), "{said}");
    assert!(said.contains("reading memory, 2 threads: 19.8 GB/s"), "{said}");
    assert!(ladder.alt.contains("1 bar void and hatched"), "{}", ladder.alt);
}

#[test]
fn what_is_not_durable_has_no_durable_bar() {
    let mut assessment = made::rich();
    let is_page = |summary: &&mut assess::summary::Summary| {
        summary.case.write().is_some_and(|work| work.every == 1)
    };
    let page = assessment.cases.iter_mut().find(is_page).expect("a page is synced");
    page.writing.as_mut().expect("it writes").durable = None;
    page.verdict = Verdict::Void;
    let said = texts(&named(&assessment, "ladder"));
    assert!(said.contains("not durable") && !said.contains("3.30 MB/s"), "{said}");
}

#[test]
fn cells_of_a_heat_map_tell_what_is_wrong() {
    let figure = named(&made::methods(), "heat-cold-sequential-4kib");
    let said = texts(&figure);
    assert!(said.contains("void CacheLeak") && said.contains("failed"), "{said}");
    assert!(said.contains("idle 3 %"), "{said}");
    assert!(figure.alt.contains("2 cells without a valid figure"), "{}", figure.alt);
}

#[test]
fn a_step_and_rounds_that_were_left_out_are_drawn() {
    let said = texts(&named(&made_writing::strategies(), "rate-over-time"));
    assert!(said.contains("from 2.60 GB/s to 610 MB/s after 310 ms"), "{said}");
    let rounds = named(&made::rich(), "rounds");
    assert!(
        texts(&rounds).contains("left out: other processes disturbed it"),
        "{}",
        texts(&rounds)
    );
}

#[test]
fn a_difference_is_told_by_a_word() {
    let said = texts(&named(&made::methods(), "compared"));
    assert!(said.contains("1.31× (1.27-1.35) different"), "{said}");
    assert!(said.contains("inconclusive (n ≈ 24)"), "{said}");
    let (a, b) = two_records(1.25);
    let of_records = pictures_of_records(&super::compare(&a, &b));
    assert_eq!(of_records[0].name, "compared");
    assert!(texts(&of_records[0]).contains("0.80×"), "{}", texts(&of_records[0]));
}

#[test]
fn a_picture_that_stands_alone_has_paper_and_both_schemes() {
    let assessment = made::rich();
    for figure in pictures(&assessment) {
        let svg = picture_alone(&assessment, &figure.name).expect("it is one of them");
        let document = Document::parse(&svg).unwrap_or_else(|error| panic!("{error}: {svg}"));
        assert!(svg.contains("prefers-color-scheme:dark") && svg.contains(crate::MARK), "{svg}");
        let paper = document.descendants().find(|node| node.has_tag_name("rect"));
        assert_eq!(
            paper.and_then(|node| node.attribute("fill").map(str::to_string)),
            Some("#FFFFFF".into())
        );
        assert!(svg.contains(&figure.title.replace('&', "&amp;")), "{svg}");
    }
    let unknown = picture_alone(&assessment, "lader").expect_err("there is none").to_string();
    assert!(
        unknown.starts_with("unknown figure 'lader' (did you mean 'ladder'?): known are "),
        "{unknown}"
    );
}

/// A case may be called by a record what it likes.
#[test]
fn a_record_cannot_write_into_the_svg() {
    let mut assessment = made::interrupted();
    for summary in &mut assessment.cases {
        summary.case.peer = "<script>\"&\u{1b}[2J".to_string();
        summary.id = summary.case.id();
    }
    let figures = pictures(&assessment);
    assert!(!figures.is_empty());
    for figure in figures {
        assert!(
            !figure.svg().contains("<script>") && !figure.svg().contains('\u{1b}'),
            "{}",
            figure.svg()
        );
        Document::parse(&figure.svg()).unwrap_or_else(|error| panic!("{error}: {}", figure.svg()));
    }
}

/// A hop that tells its speed has a bar, and the fastest case of the run a line. A guest has none.
#[test]
fn a_run_has_a_picture_of_its_path() {
    let link = |name: &str, lanes: u64, below| {
        let now = LinkSpeed { rate: Some(8_000), lanes: Some(lanes) };
        Hop::new(name, HopKind::Link(LinkHop { now, ..LinkHop::default() }), below)
    };
    let path = link("0000:02:00.0", 4, vec![link("0000:01:00.0", 2, Vec::new())]);
    let mut run = made::rich();
    run.header.host.hypervisor = None;
    let storage = run.header.storage.as_mut().expect("the rich one has storage");
    storage.path = Some(Box::new(Hop::new("nvme0n1", HopKind::Disk(Box::default()), vec![path])));
    let top = storage.path.clone().expect("it was set");
    let allows = allowed(&top, false).expect("its speed is known");
    run.cases[9].link = Some(Box::new(LinkUse { allows, share: 0.5, share_low: Some(0.5) }));
    let picture = named(&run, "path");
    assert!(picture.alt.contains("at most 1.97 GB/s: PCIe 3.0 x2 of 0000:01:00.0"), "{picture:?}");
    assert!(picture.alt.contains("A line shows the fastest case: "), "{picture:?}");
    assert_snapshot!(picture_alone(&run, "path").expect("it is there"));
    run.header.host.hypervisor = Some("KVM".to_string());
    assert!(!names(&run).contains(&"path".to_string()));
}
