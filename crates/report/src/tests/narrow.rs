//! Reports on a narrow terminal.

use super::one_value::{record, works};
use super::{all, build};
use crate::Style;
use crate::tests::forms::table;
use crate::tests::forms::{fleet, gate_of_run, records, text, together, trend};
use assess::fleet::FleetRecords;
use assess::gate::gate;
use assess::records::Judged;
use assess::trend::Trends;
use model::record::Record;
use std::convert::Infallible;

const WIDTH: usize = 60;
const NARROW: Style = Style { colour: false, width: WIDTH };

/// Only a single long word may be wider: a path, for example.
fn check(form: &str, report: &str) {
    let wide = report.lines().filter(|line| line.chars().count() > WIDTH);
    let wide: Vec<&str> = wide.filter(|line| line.trim().contains(' ')).collect();
    assert!(wide.is_empty(), "{form}:\n{}", wide.join("\n"));
}

/// Columns are left out and labels folded, so that no line is wider than the terminal.
#[test]
fn reports_fit_sixty_columns() {
    for assessment in all() {
        check(&assessment.header.plan.recipe, &text(&assessment, &NARROW));
        let listed = crate::Listed::of("a.jsonl".to_string(), &assessment);
        check("runs", &crate::runs(&[listed], &[]).text(&NARROW));
    }
}

#[test]
fn comparisons_and_hosts_fit_sixty_columns() {
    for work in works() {
        let (one, mut other) = (record(&work, "one"), record(&work, "other"));
        other.header.began = "2026-01-02T00:00:00Z".to_string();
        let judged = |record: &Record| Judged::of(record.clone());
        let versus = assess::compare(judged(&one), judged(&other), &[]);
        let paths = ["one.jsonl", "other.jsonl"];
        check("compare", &records(&versus, paths, &NARROW));
        let rules: Vec<_> =
            ["slower > 0.1%", "p99 > 10%"].iter().map(|rule| rule.parse().unwrap()).collect();
        let decided = gate(&versus, &rules);
        check("gate", &gate_of_run(&versus, &decided, paths, &NARROW));
        let mut gathering = FleetRecords::default();
        for host in ["a-host-with-a-long-name-1", "a-host-with-a-long-name-2", "short"] {
            gathering.add(&record(&work, host), &format!("{host}.jsonl")).unwrap();
        }
        check("the fleet", &fleet(&gathering.judge(), &NARROW));
        let read = |host: usize| Ok::<_, Infallible>(record(&work, &format!("host-{host}")));
        let run = assess::together(3, read).unwrap().unwrap();
        check("lockstep", &together(&run, &NARROW));
        let assessment = assess::assess(&one);
        let mut trends = Trends::default();
        trends.add(&assessment);
        check("watch", &trend(&trends, &assessment, 1, &NARROW));
    }
}

/// What takes most words to say of a pair: how many invocations it needs.
#[test]
fn what_a_comparison_needs_fits_sixty_columns() {
    let mut assessment = super::made::rich();
    let [case, base] = [&assessment.cases[5], &assessment.cases[6]];
    let mut found = build::comparison([case, base], 10, [1.02, 0.75, 1.38]);
    (found.invocations, found.needs) = (5, Some(203));
    found.difference = assess::comparison::Difference::Inconclusive;
    assessment.comparisons = vec![found];
    let said = table(&assessment, &NARROW);
    assert!(said.contains("inconclusive"), "{said}");
    check("comparisons", &said);
}
