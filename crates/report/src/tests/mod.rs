//! Every view of every assessment, held as snapshots; and the JSON, held against its schema.

pub(crate) mod forms;
pub(crate) mod build;
pub(crate) mod made;
mod made_memory;
mod made_beside;
mod made_open;
pub(crate) mod made_writing;
mod hostile;
mod arrays;
mod contract;
mod markdown;
mod tables;
mod damaged;
mod engines;
mod gate;
mod kept;
mod narrow;
mod one_value;
mod page;
mod pictures;
mod running;
mod same_words;
mod sentences;
mod steady;
mod steering;

use crate::answer;
use crate::tests::forms::{pivot, plan, records, survey, table, text};
use crate::{Style, shortfall};
use assess::Assessment;
use assess::conclusions::disk_or_memory::{Bottleneck, FastestOfDevice};
use assess::conclusions::durability::WritingAnswer;
use assess::finding::{Code, Severity, Verdict};
use assess::link_use::LinkUse;
use assess::path::allowed;
use assess::records::{Judged, RecordComparison};
use assess::summary::ServedBy;
use insta::assert_snapshot;
use model::axis::Axis;
use model::case::{Atomic, BufferPages, Engine, Op, Submission, Sync, Work, WriteWork};
use model::environment::Environment;
use model::host::{Device, LoopFile, Medium};
use model::layer::{Amplification, Counts, Layer};
use model::path::{ArrayHop, Hop, HopKind, InterfaceHop, LinkHop, LinkSpeed, WriteCache};
use model::plan::{Plan, Role, Skip};
use model::record::Record;
use model::trial::{Outcome, Trial};
use model::view::{Heading, Question, View};
use model::zoo;
use pulldown_cmark::Options;
use std::time::Duration;

/// What GitHub reads beyond CommonMark.
pub(crate) const GITHUB: Options = Options::ENABLE_TABLES
    .union(Options::ENABLE_FOOTNOTES)
    .union(Options::ENABLE_STRIKETHROUGH)
    .union(Options::ENABLE_TASKLISTS)
    .union(Options::ENABLE_MATH)
    .union(Options::ENABLE_GFM);

const PLAIN: Style = Style { colour: false, width: 100 };
const COLOUR: Style = Style { colour: true, width: 100 };
const NARROW: Style = Style { colour: false, width: 80 };

fn all() -> Vec<Assessment> {
    vec![
        made::rich(),
        made::tmpfs(),
        made::interrupted(),
        made::all_failed(),
        made::pages(),
        made::methods(),
        made_memory::memory(),
        made_memory::counting(),
        made_memory::compilers(),
        made_memory::peers(),
        made_memory::loaded_latency(),
        made_writing::strategies(),
        made_writing::sustained(),
        made_writing::touching(),
        made_writing::syncs_of_a_disk(),
        failed_writes("write-strategies"),
        failed_writes("touch-pages"),
        failed_writes("sync-latency"),
        build::assessment("empty", Vec::new()),
        assess::assess(&zoo::record()),
        made_open::rates(),
        made_open::undecided(),
        made_open::depths(Some(8)),
        made_beside::interference(),
        assess::assess(&zoo::commands::record_of_commands()),
    ]
}

/// Every view that suits any assessment.
const VIEWS: [Show; 6] =
    [survey, in_view_of_methods, table, in_view_of_writes, in_view_of_touches, in_view_of_syncs];

fn in_view_of_methods(assessment: &Assessment, style: &Style) -> String {
    pivot(&build::in_view(build::view_of("read-methods"), assessment.clone()), style)
}

fn in_view_of_writes(assessment: &Assessment, style: &Style) -> String {
    in_view_of("write-strategies", assessment, style)
}

fn in_view_of_touches(assessment: &Assessment, style: &Style) -> String {
    in_view_of("touch-pages", assessment, style)
}

fn in_view_of_syncs(assessment: &Assessment, style: &Style) -> String {
    in_view_of("sync-latency", assessment, style)
}

/// The table that the view of another recipe makes of an assessment.
fn in_view_of(recipe: &str, assessment: &Assessment, style: &Style) -> String {
    table(&build::in_view(build::view_of(recipe), assessment.clone()), style)
}

type Show = fn(&Assessment, &Style) -> String;

fn failed_writes(recipe: &str) -> Assessment {
    let whole = match recipe {
        "touch-pages" => made_writing::touching(),
        "sync-latency" => made_writing::syncs_of_a_disk(),
        _ => made_writing::strategies(),
    };
    made_writing::all_failed(recipe, &whole.cases)
}

/// Escape sequences made visible, so that a snapshot can be read.
fn visible(text: &str) -> String {
    text.replace('\x1b', "␛")
}

#[test]
fn survey_of_a_virtual_disk() {
    assert_snapshot!(text(&made::rich(), &PLAIN));
}

#[test]
fn survey_in_colour() {
    assert_snapshot!(visible(&text(&made::rich(), &COLOUR)));
}

#[test]
fn survey_of_a_directory_in_memory() {
    assert_snapshot!(text(&made::tmpfs(), &PLAIN));
}

#[test]
fn survey_that_was_interrupted() {
    let survey = build::in_view(build::view_of("survey"), made::interrupted());
    assert_snapshot!(text(&survey, &PLAIN));
}

#[test]
fn survey_where_all_failed() {
    assert_snapshot!(text(&made::all_failed(), &PLAIN));
}

#[test]
fn a_survey_is_one_screen() {
    let lines = text(&made::rich(), &PLAIN).lines().count();
    assert!(lines <= 50, "{lines} lines");
}

#[test]
fn memory_with_its_ladder() {
    assert_snapshot!(text(&made_memory::memory(), &PLAIN));
}

#[test]
fn memory_without_a_ladder() {
    let mut assessment = made_memory::memory();
    assessment.cases.truncate(3);
    assert_snapshot!(text(&assessment, &PLAIN));
}

#[test]
fn counting_tens() {
    assert_snapshot!(text(&made_memory::counting(), &PLAIN));
}

#[test]
fn counting_without_an_answer() {
    let mut assessment = made_memory::counting();
    assessment.conclusions.counts.clear();
    assert!(text(&assessment, &PLAIN).contains("There is no answer"));
}

#[test]
fn compilers_and_their_vectors() {
    assert_snapshot!(text(&made_memory::compilers(), &PLAIN));
}

#[test]
fn peers_side_by_side() {
    assert_snapshot!(text(&made_memory::peers(), &PLAIN));
}

#[test]
fn ways_to_write() {
    assert_snapshot!(text(&made_writing::strategies(), &PLAIN));
}

#[test]
fn ways_to_write_in_80_columns() {
    assert_snapshot!(text(&made_writing::strategies(), &NARROW));
}

#[test]
fn ways_to_write_with_all_columns() {
    assert_snapshot!(text(&made_writing::strategies(), &Style { colour: false, width: 160 }));
}

#[test]
fn ways_to_write_until_steady_interrupted() {
    assert_snapshot!(text(&made_writing::sustained(), &Style { colour: false, width: 160 }));
}

#[test]
fn ways_to_write_where_all_failed() {
    assert_snapshot!(text(&failed_writes("write-strategies"), &PLAIN));
}

#[test]
fn pages_touched() {
    assert_snapshot!(text(&made_writing::touching(), &PLAIN));
}

#[test]
fn pages_touched_in_80_columns() {
    assert_snapshot!(text(&made_writing::touching(), &NARROW));
}

#[test]
fn pages_touched_where_all_failed() {
    assert_snapshot!(text(&failed_writes("touch-pages"), &PLAIN));
}

#[test]
fn sync_latency() {
    assert_snapshot!(text(&made_writing::syncs_of_a_disk(), &PLAIN));
}

#[test]
fn sync_latency_in_80_columns() {
    assert_snapshot!(text(&made_writing::syncs_of_a_disk(), &NARROW));
}

/// Of writes on a schedule, the time between them is the schedule's: a commit takes as long as its
/// response.
#[test]
fn a_commit_with_a_rate_takes_its_response_time() {
    let mut assessment = made_writing::syncs_of_a_disk();
    assessment.cases.truncate(2);
    assessment.cases.iter_mut().skip(1).for_each(made_open::give_rate);
    assessment = build::in_view(
        View { answer: vec![Question::Commits], ..assessment.view().clone() },
        assessment,
    );
    let said = crate::text::joined(&crate::answer::answer(&assessment).lines, "\n").to_string();
    let expected = "fdatasync after 4KiB takes 1.20 ms (p50) and 3.12 ms (p99).\n\
                    fdatasync after nothing 140 µs (p50).\n\
                    A commit, from when it was due until it was durable: 210 µs (p50) for 4KiB \
                    written over, at random, 100/s due, fdatasync.";
    assert!(said.starts_with(expected), "{said}");
    assert!(!said.contains("on average"), "{said}");
}

/// A transaction is several syncs, so it is no fdatasync after so many bytes.
#[test]
fn a_transaction_takes_as_long_as_its_syncs_together() {
    let mut assessment = made_writing::syncs_of_a_disk();
    assessment.cases.truncate(3);
    for (summary, atomic) in
        assessment.cases.iter_mut().skip(1).zip([Atomic::JournalDelete, Atomic::JournalPersist])
    {
        let Work::Write(work) = &mut summary.case.work else { panic!("it writes") };
        (work.atomic, work.every, work.io.block) = (atomic, 2, 4096);
        summary.id = summary.case.id();
    }
    let view = View { answer: vec![Question::Commits], ..assessment.view().clone() };
    let assessment = build::in_view(view, build::assessment("sync-latency", assessment.cases));
    let said = crate::text::joined(&crate::answer::answer(&assessment).lines, "\n").to_string();
    let expected = "A transaction of 2 × 4KiB commits in 1.20 ms (p50) and 3.12 ms (p99) with a \
                    rollback journal that is deleted, in ";
    assert!(said.contains(expected), "{said}");
    assert!(said.contains(" with one whose header is overwritten."), "{said}");
    assert!(!said.contains("fdatasync after 4KiB") && !said.contains("on average"), "{said}");
}

/// Each row with a finding of many rows has its mark in the table, and no other row has one.
#[test]
fn rows_of_a_finding_of_many_are_marked() {
    let mut assessment = made_writing::strategies();
    let asked = assessment.cases.iter_mut().filter(|summary| summary.role == Role::Asked);
    let (mut ids, mut others) = (Vec::new(), Vec::new());
    for (index, summary) in asked.enumerate() {
        if index < 5 { ids.push(summary.id.clone()) } else { others.push(summary.id.clone()) }
    }
    assert!(!others.is_empty(), "not all rows have it");
    let mut found = build::of_run(build::finding(Code::Excluded, Severity::Note, "it is", ""));
    found.cases = ids.clone();
    assessment.findings = vec![found];
    let metric = crate::metric::Metric::named("verdict");
    let cell = |id: &String| {
        let summary = assessment.cases.iter().find(|summary| summary.id == *id);
        metric.cell(summary.expect("it was there"), &assessment)
    };
    assert!(ids.iter().all(|id| cell(id).ends_with(" a")), "{}", cell(&ids[0]));
    assert!(others.iter().all(|id| !cell(id).contains(' ')), "{}", cell(&others[0]));
    let said: Vec<String> =
        text(&assessment, &PLAIN).split_whitespace().map(str::to_string).collect();
    assert!(said.join(" ").contains("; also 4 other rows marked a): it is."), "{said:?}");
}

/// An answer of speed says which rows it leaves out.
#[test]
fn rows_with_a_rate_are_left_out_with_a_word() {
    let left_out = "a rate: their schedule";
    let mut assessment = made_writing::strategies();
    let said = |assessment: &Assessment| {
        crate::text::joined(&crate::answer::answer(assessment).lines, "\n").to_string()
    };
    assert!(!said(&assessment).contains(left_out));
    let asked = assessment.cases.iter_mut().filter(|summary| summary.role == Role::Asked);
    asked.take(2).for_each(made_open::give_rate);
    let expected = "\n2 rows have a rate: their schedule sets the throughput, so no statement \
                    about speed counts them.";
    assert!(said(&assessment).ends_with(expected), "{}", said(&assessment));
    assessment = build::in_view(
        View { answer: vec![Question::Load], ..assessment.view().clone() },
        assessment,
    );
    assert!(!said(&assessment).contains(left_out));
}

#[test]
fn sync_latency_where_all_failed() {
    assert_snapshot!(text(&failed_writes("sync-latency"), &PLAIN));
}

#[test]
fn table_of_writes() {
    assert_snapshot!(table(&made_writing::strategies(), &Style { colour: false, width: 132 }));
}

#[test]
fn table_of_writes_in_80_columns() {
    assert_snapshot!(table(&made_writing::syncs_of_a_disk(), &NARROW));
}

#[test]
fn plan_of_writes() {
    let (host, storage) = (zoo::host(), zoo::storage());
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
    let mut planned = Plan::new("zoo", 10, 0.025, 1);
    (planned.sustain, planned.memory_limit) = (Some(Duration::from_secs(60)), Some(2 << 30));
    for summary in made_writing::strategies().cases {
        planned.add([summary.case], summary.role, &environment);
    }
    assert_snapshot!(plan(&planned, &NARROW));
}

#[test]
fn rates_held_and_not() {
    assert_snapshot!(text(&made_open::rates(), &PLAIN));
    assert_eq!(shortfall(&made_open::rates()), None);
    let said = shortfall(&made_open::undecided()).unwrap();
    assert!(
        said.contains("undecided whether") && said.contains("the least rate that was asked for"),
        "{said}"
    );
    let said = crate::answer::answer(&made_open::undecided()).lines;
    assert_snapshot!(crate::text::joined(&said, "\n"));
}

#[test]
fn depths_that_are_enough() {
    let said = |enough| {
        crate::text::joined(&crate::answer::answer(&made_open::depths(enough)).lines, "\n")
            .to_string()
    };
    assert_snapshot!([Some(8), Some(64), None].map(said).join("\n\n"));
}

#[test]
fn alone_and_beside_others() {
    assert_snapshot!(text(&made_beside::interference(), &PLAIN));
}

#[test]
fn memory_beside_loads() {
    assert_snapshot!(text(&made_memory::loaded_latency(), &PLAIN));
}

#[test]
fn rates_held_and_not_in_60_columns() {
    assert_snapshot!(text(&made_open::rates(), &Style { colour: false, width: 60 }));
}

#[test]
fn page_latency() {
    assert_snapshot!(text(&made::pages(), &PLAIN));
}

#[test]
fn read_methods() {
    assert_snapshot!(text(&made::methods(), &NARROW));
}

#[test]
fn read_methods_in_colour() {
    assert_snapshot!(visible(&text(&made::methods(), &COLOUR)));
}

#[test]
fn table_of_a_survey() {
    assert_snapshot!(table(&made::rich(), &Style { colour: false, width: 200 }));
}

#[test]
fn table_in_80_columns() {
    assert_snapshot!(table(&made::methods(), &NARROW));
}

#[test]
fn table_of_an_interrupted_run() {
    assert_snapshot!(table(&made::interrupted(), &PLAIN));
}

#[test]
fn table_where_all_failed() {
    assert_snapshot!(table(&made::all_failed(), &PLAIN));
}

#[test]
fn table_of_nothing() {
    assert_snapshot!(table(&build::assessment("empty", Vec::new()), &PLAIN));
}

#[test]
fn table_of_a_record() {
    assert_snapshot!(table(&assess::assess(&zoo::record()), &PLAIN));
}

#[test]
fn plan_with_its_skips() {
    let (host, storage) = (zoo::host(), zoo::storage());
    let environment =
        Environment { host: &host, storage: Some(&storage), source: None, peers: &[] };
    let mut planned = Plan::new("zoo", 10, 0.025, 1);
    let methods = made::methods();
    planned.add(
        methods.cases.iter().map(|summary| summary.case.clone()),
        Role::Asked,
        &environment,
    );
    planned.skips = methods.skips;
    planned.skips.extend(methods.cases[..6].iter().map(|summary| Skip {
        case: summary.case.clone(),
        reason: "a file of 1GiB does not fit".to_string(),
    }));
    assert_snapshot!(plan(&planned, &NARROW));
}

#[test]
fn no_view_is_wider_than_asked() {
    for assessment in all() {
        for view in VIEWS.into_iter().chain([text as Show]) {
            for width in [80, 100, 132, 200] {
                let text = without_colour(&view(&assessment, &Style { colour: true, width }));
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
                }
            }
        }
    }
}

/// No column of a table is left out for want of room where there are 200 columns.
#[test]
fn wide_terminals_have_all_columns() {
    let titles = |assessment: &Assessment, width| -> Vec<String> {
        let text = table(assessment, &Style { colour: false, width });
        let title = text.lines().find(|line| line.starts_with("case ")).unwrap_or_default();
        title.split_whitespace().map(str::to_string).collect()
    };
    // What writes has five more, which fit where names are short only.
    let writes =
        |assessment: &Assessment| assessment.cases.iter().any(|s| s.case.write().is_some());
    for assessment in all().iter().filter(|assessment| !writes(assessment)) {
        assert_eq!(titles(assessment, 200), titles(assessment, 1_000));
        assert!(titles(assessment, 60).len() <= titles(assessment, 200).len());
    }
}

/// What is left when the colours are taken out.
fn without_colour(text: &str) -> String {
    let mut pieces = text.split("\x1b[");
    let mut out = pieces.next().unwrap_or_default().to_string();
    for piece in pieces {
        out.push_str(piece.split_once('m').expect("only colours are used").1);
    }
    out.lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

#[test]
fn without_colour_the_text_is_the_same() {
    for assessment in all() {
        for view in VIEWS
            .into_iter()
            .filter(|view| !std::ptr::fn_addr_eq(*view, in_view_of_methods as Show))
        {
            let colour = without_colour(&view(&assessment, &COLOUR));
            let plain = view(&assessment, &PLAIN);
            assert_eq!(colour.trim_end(), plain.trim_end());
            assert!(!plain.contains('\x1b'));
        }
        assert!(!in_view_of_methods(&assessment, &PLAIN).contains('\x1b'));
    }
}

#[test]
fn a_table_with_the_groups_and_columns_that_a_view_asks_for() {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
    let view = View {
        group: ["cache", "block"].map(|axis| Heading::Axis(Axis::named(axis).unwrap())).to_vec(),
        columns: names(&["iops", "p99", "throughput"]),
        ..View::default()
    };
    assert_snapshot!(text(&build::in_view(view, made::methods()), &NARROW));
}

#[test]
fn what_a_recipe_is_called_decides_nothing() {
    let is_titled = |text: &str| text.contains("another name");
    for mut assessment in all() {
        let of_recipe = format!(" · {} · ", assessment.header.plan.recipe);
        let forms = |assessment: &Assessment| {
            let pictures =
                crate::tests::forms::pictures(assessment).into_iter().map(|picture| picture.svg());
            let texts = [
                text(assessment, &PLAIN),
                crate::tests::forms::markdown(assessment),
                crate::tests::forms::page(assessment),
            ];
            texts
                .into_iter()
                .chain(pictures)
                .map(|text| text.replace(&of_recipe, " · another name · "))
                .collect::<Vec<String>>()
        };
        let before = forms(&assessment);
        let renamed =
            std::mem::replace(&mut assessment.header.plan.recipe, "another name".to_string());
        let after = forms(&assessment);
        assert_eq!(before.len(), after.len());
        assert!(is_titled(&after[0]));
        for (before, after) in before.iter().zip(after) {
            let plain = |text: &str| text.replace(&renamed, "").replace("another name", "");
            assert_eq!(plain(before), plain(&after), "{renamed}");
        }
    }
}

/// A void figure stands in brackets or not at all: in no view does it stand bare.
#[test]
fn a_void_figure_cannot_be_mistaken_for_one() {
    for (assessment, rate) in
        [(made::rich(), "705 MB/s"), (made::pages(), "54.0 MB/s"), (made::methods(), "472 MB/s")]
    {
        for view in [survey, in_view_of_methods, table] {
            let text = view(&assessment, &Style { colour: false, width: 200 });
            let bare = text.matches(rate).count() - text.matches(&format!("({rate})")).count();
            assert_eq!(bare, 0, "{text}");
            assert!(text.contains("void"), "{text}");
        }
    }
}

/// The fsync that was no flush: its acknowledged rate is in brackets, and there is no durable one.
#[test]
fn what_is_not_durable_has_no_durable_figure() {
    let assessment = made_writing::strategies();
    for view in [in_view_of_writes, table] {
        let text = view(&assessment, &Style { colour: false, width: 200 });
        assert!(text.contains("not durable"), "{text}");
        assert!(text.contains("(2.37 GB/s)"), "{text}");
        assert_eq!(text.matches("2.37 GB/s").count(), 1, "{text}");
        assert!(!text.contains("598 MB/s"), "{text}");
    }
}

#[test]
fn the_answer_of_writing_says_what_is_missing() {
    let mut assessment = made_writing::strategies();
    let answer = assessment.conclusions.durability.as_mut().expect("it has an answer");
    (answer.durable, answer.cost) = (None, None);
    let text = crate::tests::forms::text(&assessment, &PLAIN);
    assert!(text.contains("No durable rate is valid."), "{text}");
    assert!(!text.contains("what durability costs"), "{text}");
}

/// A void row beside others was measured, but is compared with nothing.
#[test]
fn a_time_of_too_few_operations_is_unknown() {
    let mut assessment = made_beside::interference();
    let alone = &mut assessment.conclusions.interferences[0].alone;
    (alone.p50_ns, alone.p99_ns) = (None, None);
    let text = crate::tests::forms::text(&assessment, &PLAIN);
    assert!(text.contains("takes an unknown time (too few for a median)"), "{text}");
}

#[test]
fn a_case_beside_others_without_a_valid_figure_was_measured() {
    let mut assessment = made_beside::interference();
    assessment.conclusions.interferences.clear();
    let text = crate::tests::forms::text(&assessment, &PLAIN);
    assert!(text.contains("No case has a valid figure both alone and beside others."), "{text}");
    assessment.cases.truncate(1);
    let text = crate::tests::forms::text(&assessment, &PLAIN);
    assert!(text.contains("No case was measured both alone and beside others."), "{text}");
}

/// Nothing claims durability, so nothing is said of it; without own writes or copies, nothing is.
#[test]
fn rates_that_no_case_has_are_not_missed() {
    let mut assessment = made_writing::strategies();
    let answer = assessment.conclusions.durability.as_mut().expect("it has an answer");
    (answer.durable, answer.cost) = (None, None);
    for summary in &mut assessment.cases {
        if let Work::Write(work) = &mut summary.case.work {
            (work.op, work.sync) = (Op::Copy, Sync::None);
        }
    }
    let text = crate::tests::forms::text(&assessment, &PLAIN);
    assert!(!text.contains("No durable rate"), "{text}");
    assert!(text.contains("Fastest acknowledged copy by ioassay itself"), "{text}");
    assessment.conclusions.durability = None;
    let text = crate::tests::forms::text(&assessment, &PLAIN);
    assert!(!text.contains("rate is valid"), "{text}");
}

/// Each layer is said with what is below it.
#[test]
fn the_header_says_what_is_below_each_layer() {
    let said = |medium, devices: Vec<Device>, layers: &[&str]| {
        let mut assessment = made_writing::syncs_of_a_disk();
        let storage = assessment.header.storage.as_mut().expect("it has storage");
        storage.medium = medium;
        storage.devices = devices;
        storage.layers = layers.iter().map(|nodes| layer(nodes)).collect();
        text(&assessment, &Style { colour: false, width: 1000 })
    };
    let device = |name: &str| Device { name: name.to_string(), ..Device::default() };
    let vda = Device { is_virtual: true, write_cache: Some(WriteCache::Back), ..device("vda") };
    let file = |file_system: &str, devices| LoopFile {
        journals_data: None,
        file_system: file_system.to_string(),
        devices,
        disks: Vec::new(),
    };
    let on = |file| Device { loop_direct: Some(true), file: Some(file), ..device("loop4") };
    let text = said(Medium::Block, vec![on(file("ext4", vec![vda.clone()]))], &["loop4"]);
    assert!(text.contains("ext4 on loop4, a file on ext4 on vda (virtual, write back)"), "{text}");
    let text = said(Medium::Block, vec![on(file("block device", vec![vda]))], &["loop4"]);
    assert!(text.contains("ext4 on loop4 on vda (virtual, write back)"), "{text}");
    let text = said(Medium::Ram, vec![on(file("tmpfs", Vec::new()))], &["loop4"]);
    assert!(text.contains("ext4 on loop4, a file on tmpfs, which is kept in memory"), "{text}");
    let text = said(Medium::Ram, vec![device("zram0")], &["zram0"]);
    assert!(text.contains("ext4 on zram0, which is kept in memory"), "{text}");
    let disks = vec![device("sda"), device("sdb")];
    let text = said(Medium::Block, disks, &["sda sdb", "md0", "dm-3"]);
    assert!(text.contains("ext4 on dm-3 on md0 on sda and sdb"), "{text}");
}

fn layer(nodes: &str) -> Layer {
    Layer {
        nodes: nodes.split(' ').map(str::to_string).collect(),
        reads: Amplification::ONE,
        writes: Amplification::ONE,
        counts: Counts::default(),
    }
}

#[test]
fn what_durability_costs_is_said_of_the_writes_that_pay_it() {
    let mut assessment = made_writing::strategies();
    let wide = Style { colour: false, width: 1000 };
    let text = crate::tests::forms::text(&assessment, &wide);
    assert!(text.contains("leaves 0.27× of the fastest acknowledged rate (0.26-0.27)."), "{text}");
    let fastest = |assessment: &mut Assessment, row: usize, ratio: [f64; 3]| {
        let row = &assessment.cases[row];
        let rate =
            row.writing.as_ref().and_then(|writing| writing.acknowledged).expect("it has one");
        let (lead, cost) = (build::lead(rate, row, &[]), build::differs([row, row], 10, ratio));
        let answer = assessment.conclusions.durability.as_mut().expect("it has an answer");
        (answer.acknowledged, answer.cost) = (Some(lead), Some(cost));
    };
    fastest(&mut assessment, 1, [0.257, 0.251, 0.263]);
    let text = crate::tests::forms::text(&assessment, &wide);
    assert!(text.contains("write 64MiB fdatasync at 2.38 GB/s."), "{text}");
    assert!(
        text.contains("leaves 0.26× of the acknowledged rate of write 64MiB fdatasync (0.25-0.26)"),
        "{text}"
    );
    assert_eq!(text.matches("Durability leaves").count(), 1, "{text}");
    fastest(&mut assessment, 1, [1.0, 0.99, 1.01]);
    let text = crate::tests::forms::text(&assessment, &wide);
    assert!(text.contains("Durability costs nothing that matters here"), "{text}");
    // A doubt on the row decides nothing, and is told.
    assessment.cases[1] = build::found(assessment.cases[1].clone(), &build::steal());
    fastest(&mut assessment, 1, [0.257, 0.251, 0.263]);
    let text = crate::tests::forms::text(&assessment, &wide);
    let open = "Undecided: what durability costs (needs sound figures).\n\
                Figures with ? are doubtful (Steal): see the findings.";
    assert!(text.contains(open), "{text}");
    assert!(
        text.contains(
            "undecided, as the highest figure, 2.38 GB/s? of write 64MiB fdatasync, is doubtful"
        ),
        "{text}"
    );
}

#[test]
fn a_sync_that_nobody_sees_is_called_so() {
    let said = |medium, is_virtual, cache| {
        let mut assessment = made_writing::syncs_of_a_disk();
        let storage = assessment.header.storage.as_mut().expect("it has storage");
        storage.medium = medium;
        (storage.devices[0].is_virtual, storage.devices[0].write_cache) = (is_virtual, cache);
        text(&assessment, &Style { colour: false, width: 1000 })
    };
    let back = Some(WriteCache::Back);
    assert!(said(Medium::Unseen, false, back).contains("unknown whether a sync reached a medium"));
    assert!(said(Medium::Block, true, back).contains("not what the host did"));
    assert!(said(Medium::Block, false, Some(WriteCache::Through)).contains("nothing to flush"));
    let plain = said(Medium::Block, false, back);
    assert!(!plain.contains("nothing to flush") && !plain.contains("the host did"), "{plain}");
}

#[test]
fn the_exit_status_tells_of_asked_cases_that_are_void_or_unavailable() {
    assert_eq!(shortfall(&made::tmpfs()), None);
    assert!(shortfall(&made::rich()).is_some());
    assert!(shortfall(&made::all_failed()).is_some());
    let mut unavailable = build::assessment("any", made::tmpfs().cases);
    let missing = &mut unavailable.cases[6];
    *missing = build::unavailable(missing, "io_uring_setup: not permitted", 10);
    assert!(shortfall(&unavailable).is_some());
    let missing = &mut unavailable.cases[6];
    missing.role = Role::Baseline;
    let said = format!("1 baseline without a valid figure: {} (unavailable)", missing.id);
    assert_eq!(shortfall(&unavailable), None);
    let text = table(&unavailable, &Style { colour: false, width: 1000 });
    assert!(text.contains(&said), "{text}");
    let mut doubtful = build::assessment("any", made::tmpfs().cases);
    doubtful.cases[6] = build::found(doubtful.cases[6].clone(), &build::steal());
    assert_eq!(shortfall(&doubtful), None);
    doubtful.cases[6] = build::found(doubtful.cases[6].clone(), &build::leak());
    assert!(shortfall(&doubtful).is_some());
}

fn check_closing(change: impl Fn(&mut Assessment), expected: &str) {
    let mut assessment = made::rich();
    change(&mut assessment);
    let labels = answer::labels(&assessment);
    let said = answer::said(model::view::Question::DiskOrMemory, &assessment, &labels);
    let said = crate::text::joined(&crate::sentence::lines(&said), " ").to_string();
    assert!(said.contains(expected), "'{said}' does not say '{expected}'");
}

fn fastest(assessment: &mut Assessment) -> &mut FastestOfDevice {
    let answer =
        assessment.conclusions.disk_or_memory.as_mut().expect("the rich one has an answer");
    answer.device.as_mut().expect("and a device")
}

#[test]
fn the_closing_answer_says_no_more_than_the_interval() {
    let of = |ratio: [f64; 3], pairs| {
        move |assessment: &mut Assessment| {
            let rows = [&assessment.cases[9], &assessment.cases[0]];
            let of_memory = build::is_faster(rows, pairs, ratio);
            fastest(assessment).of_memory = of_memory;
        }
    };
    for (ratio, pairs, expected) in [
        ([1.3, 1.2, 1.4], 10, "at depth 8, 1.30× (1.20-1.40) of a thread's memory reads, but"),
        ([1.3, 1.2, 1.4], 10, "but only 0.051× (0.047-0.054) of 2 threads'."),
        ([1.0, 0.9, 1.1], 10, "depth 8, but only 0.051×"),
        (
            [1.0, 0.9, 1.1],
            10,
            "Undecided: whether the disk is faster than memory (needs about 24 rounds)",
        ),
        ([0.15, 0.1, 0.2], 10, "Disk, sequential 1MiB: 1.02 GB/s at depth 8, only "),
        ([0.15, 0.1, 0.2], 3, "is faster than memory (needs about 17 rounds)"),
    ] {
        check_closing(of(ratio, pairs), expected);
    }
    let doubtful = |assessment: &mut Assessment| {
        assessment.cases[9] = build::found(assessment.cases[9].clone(), &build::steal());
        assessment.conclusions.disk_or_memory = Some(made::answer(&assessment.cases));
    };
    check_closing(doubtful, "is faster than 2 threads reading memory (needs sound figures)");
    check_closing(doubtful, "Disk, sequential 1MiB: 1.02 GB/s? at depth 8.");
    check_closing(doubtful, "Figures with ? are doubtful (Steal): see the findings.");
}

/// Most programs have buffers in base pages, so the figure in huge ones alone would mislead them.
#[test]
fn the_closing_answer_says_what_base_pages_give() {
    let pages = |assessment: &mut Assessment, ratio: [f64; 3]| {
        let mut base = assessment.cases[9].clone();
        base.id = "in base pages".to_string();
        let rate = base.throughput.as_mut().expect("it reads");
        rate.median /= ratio[0];
        let best = &mut assessment.cases[9];
        best.case.io_mut().expect("it reads").pages = BufferPages::Huge;
        let compared = build::comparison([best, &base], 10, ratio);
        assessment.cases.push(base);
        assessment.comparisons.push(compared);
    };
    let says = "Without huge pages for its buffers, as in most programs, it moves 510 MB/s; with \
                them 2.00× that (1.80-2.20). Disk, random";
    check_closing(|assessment| pages(assessment, [2.0, 1.8, 2.2]), says);
    let says = "0.091× (0.087-0.094) of a thread's memory reads. Disk, random";
    check_closing(|assessment| pages(assessment, [1.0, 0.97, 1.03]), says);
}

#[test]
fn the_closing_answer_names_the_bound() {
    let bounds = "What bounds the disk: the device, or the path to it: ";
    check_closing(|_| {}, bounds);
    for (bound, expected) in [
        (Bottleneck::Limit, "What bounds the disk: a limit of a control group (Throttled)"),
        (Bottleneck::Cpu, "What bounds the disk: the CPU (CpuBound)"),
        (Bottleneck::Tool, "What bounds the disk: ioassay itself, whose overhead is large here"),
        (Bottleneck::LimitOfPart, "unknown; a control group limits a part of the array"),
        (Bottleneck::Unknown, "unknown; reads with more in flight would tell: use --depth 8,16."),
    ] {
        check_closing(|assessment| fastest(assessment).bound = bound.clone(), expected);
    }
    let busy = |threads: u32, polls: bool, cores: u32| {
        move |assessment: &mut Assessment| {
            let is_unknown = polls;
            fastest(assessment).bound =
                if is_unknown { Bottleneck::Unknown } else { Bottleneck::Cpu };
            assessment.header.host.cores = cores;
            let top = &mut assessment.cases[9];
            top.case.io_mut().expect("it reads").threads = threads;
            let mut found = build::steal();
            found.code = Code::CpuBound;
            top.findings.push(found);
            if let Work::Read(work) = &mut top.case.work {
                work.submission = if polls { Submission::Iopoll } else { Submission::Enter };
            }
        }
    };
    let one = "the one thread that reads uses a whole processor; more threads may get more";
    check_closing(busy(1, false, 8), one);
    let two = "the 2 threads that read use whole processors; more threads may get more";
    check_closing(busy(2, false, 8), two);
    let all = "the 8 threads that read use all processors; more or faster ones may get more";
    check_closing(busy(8, false, 8), all);
    check_closing(busy(1, true, 8), "in any case (CpuBound), so reads with submission 'enter'");
    let capped = |bound: Bottleneck| {
        move |assessment: &mut Assessment| {
            fastest(assessment).bound = bound.clone();
            let mut found = assessment.findings[0].clone();
            found.finding.code = Code::Capped;
            assessment.findings.push(found);
        }
    };
    let limit = "unknown; a limit of the cloud held the disk back for a part of the run (Capped)";
    check_closing(capped(Bottleneck::Unknown), limit);
    check_closing(capped(Bottleneck::Cpu), "What bounds the disk: the CPU (CpuBound)");
}

/// Beside what bounds the disk, the sentence says how much of its links it got, or which fact is
/// missing, and names an array that is slower for now.
#[test]
fn the_closing_answer_tells_of_the_path() {
    let with = |path: Hop| {
        move |assessment: &mut Assessment| {
            let storage = assessment.header.storage.as_mut().expect("the rich one has storage");
            storage.path = Some(Box::new(path.clone()));
            assessment.header.host.hypervisor = None;
            fastest(assessment).bound = Bottleneck::Unknown;
        }
    };
    let link = |rate| {
        let now = LinkSpeed { rate, lanes: Some(2) };
        Hop::new("0000:01:00.0", HopKind::Link(LinkHop { now, ..LinkHop::default() }), Vec::new())
    };
    check_closing(
        with(link(None)),
        "8,16; what its links carry is unknown: not each hop of its path tells its speed.",
    );
    let guest = |assessment: &mut Assessment| {
        with(link(Some(8_000)))(assessment);
        assessment.header.host.hypervisor = Some("KVM".to_string());
    };
    check_closing(guest, "links carry is unknown: in a virtual machine, they are made up.");
    let uses = |share: f64| LinkUse {
        allows: allowed(&link(Some(8_000)), false).expect("its speed is known"),
        share,
        share_low: Some(share),
    };
    let slower = |assessment: &mut Assessment| {
        with(link(Some(8_000)))(assessment);
        assessment.cases[9].link = Some(Box::new(uses(0.517)));
    };
    let half = "the path to it gets at most 1.97 GB/s: PCIe 3.0 x2 of 0000:01:00.0, of which the \
                disk got 51.7 %.";
    check_closing(slower, half);
    let bound = |assessment: &mut Assessment| {
        fastest(assessment).bound = Bottleneck::Link(Box::new(uses(0.86)));
    };
    let most = "What bounds the disk: its link, PCIe 3.0 x2 of 0000:01:00.0, which carries at most \
                1.97 GB/s: the disk got 86.0 % of that.";
    check_closing(bound, most);
    let array = |degraded, action: &str| {
        let array = ArrayHop {
            level: Some("raid1".to_string()),
            degraded,
            action: Some(action.to_string()),
            ..ArrayHop::default()
        };
        Hop::new("md0", HopKind::Array(array), vec![link(None)])
    };
    check_closing(
        with(array(Some(1), "recover")),
        "; md0 may be slower for now (Degraded and Rebuilding).",
    );
    check_closing(with(array(Some(0), "idle")), "not each hop of its path tells its speed.");
}

/// No counter sees below a server's file system, but the network tells how much of it reads got.
#[test]
fn the_closing_answer_tells_of_the_network_to_a_server() {
    let interface = InterfaceHop { speed: Some(10_000), ..InterfaceHop::default() };
    let top = Hop::new("eth0", HopKind::Interface(interface), Vec::new());
    let unseen = |share_low: f64| {
        let top = top.clone();
        move |assessment: &mut Assessment| {
            assessment.conclusions.disk_or_memory.as_mut().expect("it has an answer").device = None;
            let storage = assessment.header.storage.as_mut().expect("the rich one has storage");
            storage.medium = Medium::Unseen;
            let allows = allowed(&top, false).expect("its speed is known");
            let share_low = Some(share_low);
            assessment.cases[9].link = Some(Box::new(LinkUse { allows, share: 0.9, share_low }));
        }
    };
    let most = "is not visible. The path to it gets at most 1.25 GB/s: network at 10.0 Gb/s of \
                eth0; the fastest reads got 90.0 % of that";
    check_closing(unseen(0.85), &format!("{most}: that bounds them."));
    check_closing(unseen(0.70), &format!("{most}."));
}

#[test]
fn the_closing_answer_says_what_is_missing() {
    let answer = |assessment: &mut Assessment| {
        assessment
            .conclusions
            .disk_or_memory
            .as_mut()
            .expect("the rich one has an answer")
            .device = None;
    };
    let medium = |medium| {
        move |assessment: &mut Assessment| {
            answer(assessment);
            assessment.header.storage.as_mut().expect("the rich one has storage").medium = medium;
        }
    };
    check_closing(
        |assessment| assessment.conclusions.disk_or_memory = None,
        "Memory and the disk are not compared",
    );
    check_closing(
        |assessment| assessment.conclusions.disk_or_memory = None,
        "What bounds the disk: unknown; that needs a valid figure of one thread reading memory.",
    );
    let unseen = |assessment: &mut Assessment| {
        medium(Medium::Unseen)(assessment);
        assessment.conclusions.disk_or_memory = None;
        let by = Some(ServedBy::Unverified);
        assessment.cases.iter_mut().for_each(|summary| summary.served_by = by);
    };
    check_closing(unseen, "Disk: unknown, because the storage below ext4 is not visible.");
    let ram = |assessment: &mut Assessment| {
        medium(Medium::Ram)(assessment);
        assessment.header.storage.as_mut().expect("it has storage").devices.clear();
    };
    check_closing(ram, "because this directory is memory");
    let zram = |assessment: &mut Assessment| {
        medium(Medium::Ram)(assessment);
        let devices = &mut assessment.header.storage.as_mut().expect("it has storage").devices;
        devices.truncate(1);
        devices[0].name = "zram0".to_string();
    };
    check_closing(zram, "Disk: not measured, because zram0, below ext4, is memory.");
    check_closing(medium(Medium::Unseen), "the storage below ext4 is not visible");
    check_closing(medium(Medium::Block), "no valid figure was served by a device (CacheLeak).");
    let cached = |assessment: &mut Assessment| {
        medium(Medium::Block)(assessment);
        let mut found = build::steal();
        (found.code, found.severity) = (Code::LoopCached, Severity::Void);
        assessment.cases[9].findings.push(found);
    };
    check_closing(cached, "by a device (CacheLeak and LoopCached).");
}

#[test]
fn the_closing_answer_tells_of_writing_what_stands() {
    let page = |assessment: &mut Assessment| {
        let is_page = |work: &WriteWork| work.every == 1;
        let mut cases = assessment.cases.iter_mut();
        let page = cases.find(|summary| summary.case.write().is_some_and(is_page));
        page.expect("a page is synced").verdict = Verdict::Void;
    };
    let answer = |change: fn(&mut WritingAnswer)| {
        move |assessment: &mut Assessment| {
            change(assessment.conclusions.durability.as_mut().expect("the rich one writes"));
        }
    };
    let rates = "Writes: 2.38 GB/s acknowledged, 612 MB/s durable.";
    check_closing(|_| {}, &format!("{rates} A commit: a sync after 4KiB takes 1.20 ms (p50)"));
    check_closing(page, &format!("{rates} What bounds"));
    check_closing(answer(|all| all.durable = None), "2.38 GB/s acknowledged; no durable rate");
    check_closing(answer(|all| all.acknowledged = None), "Writes: 612 MB/s durable.");
}

/// The zoo's record, and one that was made on another file system, each round `slowness` times as
/// long; both of two cases with their control.
fn two_records(slowness: f64) -> (Record, Record) {
    let mut a = zoo::record_of_invocations(5, 2);
    let mut second = a.header.plan.cases[0].clone();
    if let Work::Read(work) = &mut second.case.work {
        work.engine = Engine::Mmap;
    }
    a.header.plan.cases.push(second);
    a.header.plan.add_twins();
    let copies: Vec<Trial> = (1..3)
        .flat_map(|case| a.trials.iter().map(move |trial| Trial { case, ..trial.clone() }))
        .collect();
    a.trials.extend(copies);
    let mut b = a.clone();
    b.header.began = "2026-01-02T00:00:00Z".to_string();
    b.header.host.cores = 4;
    for trial in b.trials.iter_mut().filter(|trial| trial.case == 0) {
        if let Outcome::Done(sample) = &mut trial.outcome {
            let span = &mut sample.spans[0];
            span.end_ns = span.start_ns + ((span.end_ns - span.start_ns) as f64 * slowness) as u64;
        }
    }
    (a, b)
}

/// Makes one invocation of a record of several.
fn join(record: &mut Record) {
    record.header.plan.invocations = 1;
    record.invocations.clear();
    record.trials.iter_mut().for_each(|trial| trial.invocation = 0);
}

/// Two records compared, without kept runs.
fn compare(a: &Record, b: &Record) -> RecordComparison {
    assess::compare(Judged::of(a.clone()), Judged::of(b.clone()), &[])
}

fn json_of_records(versus: &RecordComparison, paths: [&str; 2]) -> String {
    let mut text = Vec::new();
    crate::json_of_records(versus, paths, &mut text).expect("memory is written");
    String::from_utf8(text).expect("JSON is text")
}

/// Two records of which the second is slower.
fn compared_records() -> RecordComparison {
    let (a, b) = two_records(1.25);
    compare(&a, &b)
}

fn compared(a: &Record, b: &Record, style: &Style) -> String {
    records(&compare(a, b), ["a.jsonl", "b.jsonl"], style)
}

#[test]
fn two_records_compared() {
    let (a, b) = two_records(1.25);
    assert_snapshot!(compared(&a, &b, &NARROW));
}

/// However far they are apart: within a run nothing tells how far two runs are.
#[test]
fn two_records_of_one_invocation_decide_nothing() {
    let (mut a, mut b) = two_records(4.0);
    join(&mut a);
    join(&mut b);
    let text = compared(&a, &b, &PLAIN);
    assert!(!text.contains("different") && !text.contains("equivalent"), "{text}");
    assert!(text.contains("Run both with more invocations (a survey: without --quick)"), "{text}");
}

#[test]
fn two_records_compared_anyway() {
    let (a, mut b) = two_records(1.02);
    let storage = b.header.storage.as_mut().expect("the zoo has storage");
    storage.file_system = "xfs".to_string();
    for planned in &mut b.header.plan.cases {
        if let Work::Read(work) = &mut planned.case.work {
            (work.io.block, work.io.depth) = (4096, 4);
        }
    }
    for trial in &mut b.trials {
        trial.outcome = match (trial.case, trial.round) {
            (1, _) => Outcome::Failed { reason: "it died".to_string() },
            (_, 6..) => Outcome::Failed { reason: "it was tired".to_string() },
            _ => continue,
        };
    }
    let versus = assess::compare_anyway(Judged::of(a.clone()), Judged::of(b.clone()), &[]);
    let text = records(&versus, ["a.jsonl", "b.jsonl"], &NARROW);
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    assert_snapshot!(text);
    // Without that, those that differ are named.
    let text = compared(&a, &b, &NARROW);
    assert!(text.contains("not compared, because A and B differ (file system ext4 in A"), "{text}");
}

#[test]
fn a_record_beside_itself() {
    let (a, _) = two_records(1.0);
    let text = compared(&a, &a, &NARROW);
    assert!(text.contains("A and B are one record"), "{text}");
    assert!(text.contains("equivalent") && !text.contains("different"), "{text}");
}

/// The lines of a table that the control is told in, where the twin is `slowness` times as slow.
fn said_of_control(slowness: f64, rounds: u32) -> String {
    let (mut a, _) = two_records(1.0);
    join(&mut a);
    a.trials.retain(|trial| trial.round < rounds);
    for trial in a.trials.iter_mut().filter(|trial| trial.case == 2) {
        // Above 2 it is not slower but uneven.
        let uneven = if trial.round.is_multiple_of(2) { 1.3 } else { 0.8 };
        let factor = if slowness > 2.0 { uneven } else { slowness };
        if let Outcome::Done(sample) = &mut trial.outcome {
            let span = &mut sample.spans[0];
            span.end_ns = span.start_ns + ((span.end_ns - span.start_ns) as f64 * factor) as u64;
        }
    }
    let text = table(&assess::assess(&a), &NARROW);
    assert!(text.contains("measured a second time (A/A)"), "{text}");
    let (_, answer) = text.rsplit_once("\n\n").expect("an answer follows");
    answer.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn the_control_is_told_in_a_sentence() {
    let agrees = said_of_control(1.001, 10);
    let twice = "measured twice in each round, gave 1.00× (0.999-0.999).";
    assert!(agrees.contains("Cold reads are repeatable: ") && agrees.contains(twice), "{agrees}");
    let differs = said_of_control(1.25, 10);
    let may = ", so a difference of up to 25.0 % may be the machine's.";
    assert!(differs.contains("Cold reads are not repeatable: ") && differs.contains(may));
    assert!(differs.contains("gave 0.80×? (0.80-0.80)"), "{differs}");
    let wide = said_of_control(3.0, 10);
    assert!(wide.contains("Cold reads are repeatable to within "), "{wide}");
    let few = said_of_control(1.0, 5);
    assert!(few.contains("how repeatable cold reads are (needs more rounds)"), "{few}");
}
