//! What served the arrays of memory kernels, in every form of output.

use super::build;
use super::build::{assessment, memory};
use super::{PLAIN, made, made_memory};
use crate::tests::forms::{markdown, page, pictures, text};
use crate::{csv, openmetrics};
use assess::Assessment;
use assess::summary::{ServedBy, Summary};
use model::case::Kernel;
use model::view::View;

#[test]
fn every_form_names_the_cache_that_served() {
    let found = made_memory::memory();
    let texts = [text(&found, &PLAIN), markdown(&found), page(&found)];
    for said in texts {
        assert!(said.contains("cpu-cache (L1)"), "{said}");
    }
    let rows = csv(&found);
    let (names, rows) = rows.split_once('\n').expect("it has a header");
    assert!(names.contains(",served_by,level,"), "{names}");
    assert!(rows.contains(",cpu-cache,1,") && rows.contains(",cpu-cache,,"), "{rows}");
    assert!(rows.contains(",ram,,"), "{rows}");
    let metrics = openmetrics(&found);
    assert!(metrics.contains("served_by=\"cpu-cache\",level=\"1\"}"), "{metrics}");
    assert!(metrics.contains("served_by=\"ram\"}"), "what is no cache has no level: {metrics}");
}

#[test]
fn a_picture_has_a_color_for_each_source_of_arrays() {
    let of = |by| Summary { served_by: Some(by), ..memory(Kernel::Copy, 1, 20e9) };
    let all = [ServedBy::CpuCache, ServedBy::CpuCacheOrRam, ServedBy::Ram];
    let found = build::in_view(View::default(), assessment("own", all.map(of).to_vec()));
    let ladder: Vec<String> = pictures(&found)
        .iter()
        .filter(|picture| picture.name == "ladder")
        .map(|picture| picture.svg())
        .collect();
    for said in ["caches", "caches or memory", "memory"] {
        assert!(ladder.concat().contains(said), "{said}: {}", ladder.concat());
    }
}

/// A legend that names what no cell has sends its reader to look for it.
#[test]
fn a_legend_names_the_idle_share_only_where_a_cell_has_one() {
    let legend = "the mean idle share of";
    let said = |found: &Assessment| text(found, &PLAIN) + &page(found);
    assert!(!said(&made_memory::memory()).contains(legend));
    assert!(said(&made::methods()).contains(legend));
}

#[test]
fn an_estimate_of_the_bus_that_is_left_out_has_its_reason() {
    let reason = "are no faster than these ordinary ones";
    let mut found = made_memory::memory();
    for said in [text(&found, &PLAIN), page(&found)] {
        assert!(!said.contains(reason), "{said}");
    }
    let copy = found.cases.iter_mut().find(|it| it.id.contains("copy ")).expect("it copies");
    copy.bus = None;
    for said in [text(&found, &PLAIN), page(&found)] {
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(reason), "{said}");
    }
}
