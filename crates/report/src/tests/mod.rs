//! Every view of every assessment, held as snapshots; and the JSON, held against its schema.

mod made;

use crate::{Style, exit_code, heatmap, json, json_schema, latency, plan, survey, table, text};
use assess::Assessment;
use insta::assert_snapshot;
use model::plan::{Place, Plan, Role, Skip};
use model::zoo;

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
        made::assessment("empty", Vec::new()),
    ]
}

/// Escape sequences made visible, so that a snapshot can be read.
fn visible(text: &str) -> String {
    text.replace('\x1b', "␛")
}

#[test]
fn survey_of_a_virtual_disk() {
    assert_snapshot!(survey(&made::rich(), &PLAIN));
}

#[test]
fn survey_in_colour() {
    assert_snapshot!(visible(&survey(&made::rich(), &COLOUR)));
}

#[test]
fn survey_of_a_directory_in_memory() {
    assert_snapshot!(survey(&made::tmpfs(), &PLAIN));
}

#[test]
fn survey_that_was_interrupted() {
    assert_snapshot!(survey(&made::interrupted(), &PLAIN));
}

#[test]
fn survey_where_all_failed() {
    assert_snapshot!(survey(&made::all_failed(), &PLAIN));
}

#[test]
fn a_survey_is_one_screen() {
    let lines = survey(&made::rich(), &PLAIN).lines().count();
    assert!(lines <= 40, "{lines} lines");
}

#[test]
fn page_latency() {
    assert_snapshot!(latency(&made::pages(), &PLAIN));
}

#[test]
fn read_methods() {
    assert_snapshot!(heatmap(&made::methods(), &NARROW));
}

#[test]
fn read_methods_in_colour() {
    assert_snapshot!(visible(&heatmap(&made::methods(), &COLOUR)));
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
    assert_snapshot!(table(&made::assessment("empty", Vec::new()), &PLAIN));
}

#[test]
fn plan_with_its_skips() {
    let (host, storage) = (zoo::host(), zoo::storage());
    let place = Place { host: &host, storage: Some(&storage) };
    let mut planned = Plan::new("zoo", 10, 0.025, 1);
    let methods = made::methods();
    planned.add(methods.cases.iter().map(|summary| summary.case.clone()), Role::Asked, &place);
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
        for view in [survey, latency, heatmap, table] {
            for width in [80, 100, 132] {
                let text = without_colour(&view(&assessment, &Style { colour: true, width }));
                for line in text.lines() {
                    assert!(line.chars().count() <= width, "{width}: {line}\n{text}");
                }
            }
        }
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
        for view in [survey, latency, table] {
            let colour = without_colour(&view(&assessment, &COLOUR));
            let plain = view(&assessment, &PLAIN);
            assert_eq!(colour.trim_end(), plain.trim_end());
            assert!(!plain.contains('\x1b'));
        }
        assert!(!heatmap(&assessment, &PLAIN).contains('\x1b'));
    }
}

#[test]
fn the_view_follows_the_recipe() {
    for (assessment, view) in [
        (made::rich(), survey as fn(&Assessment, &Style) -> String),
        (made::pages(), latency),
        (made::methods(), heatmap),
        (made::interrupted(), table),
    ] {
        assert_eq!(text(&assessment, &PLAIN), view(&assessment, &PLAIN));
    }
}

/// A void figure stands in brackets or not at all: in no view does it stand bare.
#[test]
fn a_void_figure_cannot_be_mistaken_for_one() {
    for (assessment, rate) in
        [(made::rich(), "705 MB/s"), (made::pages(), "54.0 MB/s"), (made::methods(), "472 MB/s")]
    {
        for view in [survey, latency, heatmap, table] {
            let text = view(&assessment, &Style { colour: false, width: 200 });
            let bare = text.matches(rate).count() - text.matches(&format!("({rate})")).count();
            assert_eq!(bare, 0, "{text}");
            assert!(text.contains("void"), "{text}");
        }
    }
}

#[test]
fn the_exit_status_tells_of_void_and_failed_cases() {
    assert_eq!(exit_code(&made::tmpfs()), 0);
    assert_eq!(exit_code(&made::rich()), 1);
    assert_eq!(exit_code(&made::all_failed()), 1);
    let mut doubtful = made::assessment("any", made::tmpfs().cases);
    doubtful.cases[6] = made::found(doubtful.cases[6].clone(), &made::steal());
    assert_eq!(exit_code(&doubtful), 0);
    doubtful.cases[6] = made::found(doubtful.cases[6].clone(), &made::leak());
    assert_eq!(exit_code(&doubtful), 1);
}

mod contract {
    use super::*;
    use serde_json::{Value, json as value};

    fn is_valid(instance: &Value) -> Result<(), String> {
        let schema: Value = serde_json::from_str(&json_schema()).expect("the schema is JSON");
        let validator = jsonschema::validator_for(&schema).expect("the schema is a schema");
        validator.validate(instance).map_err(|error| error.to_string())
    }

    fn parsed(assessment: &Assessment) -> Value {
        serde_json::from_str(&json(assessment)).expect("the output is JSON")
    }

    #[test]
    fn every_assessment_keeps_it() {
        for assessment in all() {
            assert_eq!(is_valid(&parsed(&assessment)), Ok(()));
        }
    }

    /// The check above is worth nothing if it cannot fail.
    #[test]
    fn what_breaks_it_is_refused() {
        let sound = parsed(&made::rich());
        let case = "/cases/5";
        for (pointer, broken) in [
            ("/format", value!("1")),
            ("/end", value!("over")),
            ("/storage/medium", value!("tape")),
            (&format!("{case}/verdict"), value!("fine")),
            (&format!("{case}/served_by"), value!("magic")),
            (&format!("{case}/throughput/median"), value!("3.1 GB/s")),
            (&format!("{case}/latency_ns/p99"), value!(-1)),
            (&format!("{case}/case/block"), value!("4KiB")),
            (&format!("{case}/case/engine"), value!("dd")),
            (&format!("{case}/findings/0/severity"), value!("bad")),
            ("/answer/device/bound", value!("luck")),
            ("/findings/0/cases", value!("all")),
        ] {
            let mut json = sound.clone();
            *json.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer} is there")) = broken;
            assert!(is_valid(&json).is_err(), "{pointer} is broken and passes");
        }
        for key in ["tool", "host", "cases", "skips", "comparisons", "findings"] {
            let mut json = sound.clone();
            json.as_object_mut().expect("an object").remove(key);
            assert!(is_valid(&json).is_err(), "without {key} it passes");
        }
    }

    #[test]
    fn a_missing_figure_is_null_and_not_absent() {
        let json = parsed(&made::all_failed());
        let case = json["cases"][0].as_object().expect("a case is an object");
        for key in ["served_by", "throughput", "iops", "imbalance_percent", "digest_verified"] {
            assert_eq!(case.get(key), Some(&Value::Null), "{key}");
        }
        assert_eq!(case["latency_ns"]["p99_9"], Value::Null);
        assert_eq!(case["latency_ns"]["count"], 0);
        assert_eq!(case["failures"][0]["trials"], 10);
    }

    #[test]
    fn a_case_in_full() {
        let json = parsed(&made::rich());
        let case = serde_json::to_string_pretty(&json["cases"][9]).expect("it was just parsed");
        assert_snapshot!(case);
    }

    #[test]
    fn the_schema_is_published_as_it_is() {
        assert_snapshot!(json_schema());
    }
}
