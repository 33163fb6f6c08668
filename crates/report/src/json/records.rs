//! Two records compared, and the control of a run, in the form of [`crate::contract`].

use super::{case, comparison};
use crate::contract as wire;
use assess::Assessment;
use assess::control::Control;
use assess::records::{Apart, Basis, RecordComparison};

pub(super) fn control(control: &Control) -> wire::Control<'_> {
    wire::Control {
        outcome: control.outcome.name(),
        decides: control.decides,
        comparisons: control.comparisons.iter().map(comparison).collect(),
    }
}

pub(super) fn versus<'a>(
    versus: &'a RecordComparison,
    paths: [&str; 2],
) -> wire::RecordComparison<'a> {
    let pair = |pair: &'a assess::records::Pair| wire::Pair {
        a: case(versus.of(pair)[0]),
        b: case(versus.of(pair)[1]),
        comparison: comparison(&pair.comparison),
        p_holm: pair.p,
        basis: match pair.basis {
            Basis::Invocations(_) => "invocations",
            Basis::RunToRun(_) => "runs",
            Basis::Nothing => "nothing",
        },
        run_to_run: match pair.basis {
            Basis::RunToRun(spread) => Some(spread.deviation),
            Basis::Invocations(_) | Basis::Nothing => None,
        },
    };
    let left_out = |left_out: &'a assess::records::LeftOut| wire::LeftOut {
        id: &left_out.id,
        reason: &left_out.reason,
    };
    wire::RecordComparison {
        format: wire::FORMAT,
        a: origin(&versus.a, paths[0]),
        b: origin(&versus.b, paths[1]),
        is_same: versus.is_same,
        obstacles: versus.obstacles.iter().map(apart).collect(),
        others: versus.others.iter().map(apart).collect(),
        pairs: versus.pairs.iter().map(pair).collect(),
        left_out: versus.left_out.iter().map(left_out).collect(),
    }
}

fn origin<'a>(assessment: &'a Assessment, path: &str) -> wire::Origin<'a> {
    let directory = assessment.storage.as_ref();
    wire::Origin {
        record: path.to_string(),
        began: &assessment.began,
        recipe: &assessment.recipe,
        host: &assessment.host.name,
        directory: directory.map(|storage| storage.directory.display().to_string()),
        control: assessment.control.as_ref().map(control),
    }
}

fn apart(apart: &Apart) -> wire::Apart<'_> {
    wire::Apart { what: &apart.what, a: &apart.a, b: &apart.b, cases: apart.cases }
}
