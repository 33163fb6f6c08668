//! Rows from the report on a run, as printed by `ioassay report --json`.

use super::figure::{Absent, BenchRow, Figure, RowTarget, RowUnit};
use crate::json::{asked, list, text};
use serde::Deserialize;
use serde_json::Value;
use std::collections::BTreeMap;

/// The peer name of ioassay's own worker.
const OWN: &str = "rust";

/// What the reason of a skipped case contains if a program of its peer is not installed.
const NOT_INSTALLED: [&str; 2] = ["on the PATH", "is not installed"];

/// A row's definition in `sections.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RowDefinition {
    name: String,
    /// The axes that distinguish the case from all others of the run, as in the JSON.
    case: BTreeMap<String, Value>,
    /// The axes in which the case to compare with differs.
    #[serde(default)]
    with: BTreeMap<String, Value>,
    /// The compared quantity.
    of: RowQuantity,
    least: Option<f64>,
    most: Option<f64>,
    #[serde(default)]
    why: String,
}

/// A quantity of a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum RowQuantity {
    /// Bytes per second; durable ones if the case claims that its writes are durable.
    Throughput,
    Iops,
    /// A thread's time per operation.
    Time,
    /// How much longer an operation of the case to compare with takes.
    AddedTime,
    /// CPU time per operation.
    Cpu,
}

impl RowQuantity {
    fn unit(self) -> RowUnit {
        match self {
            RowQuantity::Throughput => RowUnit::BytesPerSecond,
            RowQuantity::Iops => RowUnit::PerSecond,
            RowQuantity::Time | RowQuantity::AddedTime | RowQuantity::Cpu => RowUnit::Nanoseconds,
        }
    }

    /// Its key in the JSON.
    fn key(self) -> &'static str {
        match self {
            RowQuantity::Throughput => "throughput",
            RowQuantity::Iops => "iops",
            RowQuantity::Time | RowQuantity::AddedTime => "ns_per_op",
            RowQuantity::Cpu => "cpu_ns_per_op",
        }
    }

    /// The case's figure. CPU time has no interval.
    fn of(self, case: &Value) -> Option<Figure> {
        let found = &case[self.key()];
        // A case with a rate has no time per operation. One whose rate is out of reach takes as
        // long as its operations per second say.
        if self == RowQuantity::AddedTime && found.is_null() {
            let threads = case["case"]["threads"].as_f64()?;
            let median = threads * 1e9 / case["iops"]["median"].as_f64()?;
            return Some(Figure { median, interval: None });
        }
        let median = found.as_f64().or(found["median"].as_f64())?;
        let interval = found["low"].as_f64().zip(found["high"].as_f64());
        Some(Figure { median, interval })
    }
}

impl RowDefinition {
    #[cfg(test)]
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Fills the row from the report on a run.
    pub(super) fn answer(&self, run: &Value) -> BenchRow {
        let has_peer = !self.with.is_empty();
        let answer = self.find(run);
        let goal = RowTarget { least: self.least, most: self.most };
        let of_quantity = self.of.unit();
        let is_ratio = has_peer && self.of != RowQuantity::AddedTime;
        let unit = if is_ratio { RowUnit::Ratio } else { of_quantity };
        let shown = |case: &Value| self.of.of(case).map(|found| of_quantity.show(found.median));
        let dash = || "–".to_owned();
        let (ours, theirs, evidence) = match &answer {
            Ok((ours, theirs)) => {
                let named = || shown(theirs).map(|shown| format!("{}: {shown}", peer(theirs)));
                let [evidence, other] = [ours, theirs].map(|case| evidence(case));
                let both = if has_peer { format!("{evidence} · {other}") } else { evidence };
                let theirs = if has_peer { named() } else { None };
                (shown(ours).unwrap_or_else(dash), theirs.unwrap_or_else(dash), both)
            }
            Err(_) => (dash(), dash(), String::new()),
        };
        let figure = answer.and_then(|(ours, theirs)| match has_peer {
            true => self.ratio(run, ours, theirs),
            false => self
                .of
                .of(ours)
                .ok_or_else(|| self.lacks([ours, ours], "the case lacks this figure")),
        });
        let (name, why) = (self.name.clone(), self.why.clone());
        BenchRow { name, ours, theirs, figure, unit, goal, why, evidence }
    }

    /// ioassay's case, and the one that differs from it only in the axes of `with`; the fastest, if
    /// there are several. Without such axes, both are the same.
    fn find<'a>(&self, run: &'a Value) -> Result<(&'a Value, &'a Value), Absent> {
        let is_ours = |case: &&Value| self.is_ours(run, case);
        let rate = |case: &&Value| case["throughput"]["median"].as_f64().unwrap_or(0.0);
        let theirs_of = |ours: &'a Value| {
            let is_theirs = |case: &&Value| {
                let axes = ours["case"].as_object().into_iter().flatten();
                axes.into_iter()
                    .all(|(axis, value)| has(run, case, axis, self.with.get(axis).unwrap_or(value)))
            };
            let found = asked(run).filter(is_theirs);
            found.max_by(|one, other| rate(one).total_cmp(&rate(other)))
        };
        let mut pairs =
            asked(run).filter(is_ours).filter_map(|ours| Some((ours, theirs_of(ours)?)));
        let Some((ours, theirs)) = pairs.next() else { return Err(self.skipped(run)) };
        match lack(ours).or_else(|| lack(theirs)) {
            Some(absent) => Err(absent),
            None => Ok((ours, theirs)),
        }
    }

    /// Whether `case` is ioassay's.
    fn is_ours(&self, run: &Value, case: &Value) -> bool {
        peer(case) == OWN && self.case.iter().all(|(axis, value)| has(run, case, axis, value))
    }

    /// Why the run has no pair of cases for this row: one of the two was skipped.
    fn skipped(&self, run: &Value) -> Absent {
        let is_theirs = |case: &Value| {
            let own = self.case.iter().filter(|(axis, _)| !self.with.contains_key(*axis));
            self.with.iter().chain(own).all(|(axis, value)| has(run, case, axis, value))
        };
        let skips = list(&run["skips"]);
        let find = |is_it: &dyn Fn(&Value) -> bool| {
            skips.iter().find(|skip| is_it(skip)).and_then(|skip| skip["reason"].as_str())
        };
        // ioassay cannot do some cases on some machines. A peer that is there can do all of them.
        if let Some(reason) = find(&|skip| self.is_ours(run, skip)) {
            return Absent::Here(reason.to_owned());
        }
        let reason = find(&is_theirs).unwrap_or("the run has no such case").to_owned();
        let is_missing = NOT_INSTALLED.iter().any(|text| reason.contains(text));
        let is_own = !self.with.contains_key("peer") && find(&is_theirs).is_some();
        if is_missing || is_own { Absent::Here(reason) } else { Absent::Anywhere(reason) }
    }

    /// Why two cases have no such figure: it is null, or the report has no such field.
    fn lacks(&self, cases: [&Value; 2], reason: &str) -> Absent {
        let reason = format!("{reason}: {}", self.of.key());
        match cases.iter().all(|case| case.get(self.of.key()).is_some()) {
            true => Absent::Here(reason),
            false => Absent::Anywhere(reason),
        }
    }

    /// The ratio of ours to theirs, or the time that theirs adds. For a rate it comes from
    /// ioassay's own comparison, if there is one; otherwise from the medians, without an interval.
    fn ratio(&self, run: &Value, ours: &Value, theirs: &Value) -> Result<Figure, Absent> {
        let compared = list(&run["comparisons"]).iter();
        let of = |found: &&Value, case: &Value, base: &Value| {
            found["case"] == case["id"] && found["base"] == base["id"]
        };
        let is_rate = matches!(self.of, RowQuantity::Throughput | RowQuantity::Iops);
        for found in compared.filter(|_| is_rate) {
            let number = |key: &str| found[key].as_f64();
            let interval = number("low").zip(number("high"));
            let Some(median) = number("ratio") else { continue };
            if of(&found, ours, theirs) {
                return Ok(Figure { median, interval });
            }
            if of(&found, theirs, ours) {
                let interval = interval.map(|(low, high)| (1.0 / high, 1.0 / low));
                return Ok(Figure { median: 1.0 / median, interval });
            }
        }
        let (Some(ours), Some(theirs)) = (self.of.of(ours), self.of.of(theirs)) else {
            return Err(self.lacks([ours, theirs], "one of the two lacks this figure"));
        };
        let median = match self.of {
            RowQuantity::AddedTime => theirs.median - ours.median,
            _ => ours.median / theirs.median,
        };
        Ok(Figure { median, interval: None })
    }
}

fn peer(case: &Value) -> &str {
    case["case"]["peer"].as_str().unwrap_or(OWN)
}

/// Whether a case has this value of an axis. `cores` stands for the number of cores, `best` for any
/// peer.
fn has(run: &Value, case: &Value, axis: &str, value: &Value) -> bool {
    let of_case = &case["case"][axis];
    match value.as_str() {
        Some("cores") => *of_case == run["host"]["cores"],
        Some("best") => of_case != OWN,
        _ => of_case == value,
    }
}

/// Why a case has no figure to compare, if it has none. One whose trials all fail is wrong.
fn lack(case: &Value) -> Option<Absent> {
    let has_none = case["n"].as_u64() == Some(0);
    (has_none || case["verdict"] == "void").then(|| {
        let failure = case["failures"][0]["reason"].as_str();
        let finding = case["findings"][0]["message"].as_str();
        let reason = failure.or(finding).unwrap_or("no trial completed");
        let reason = format!("{} is {}: {reason}", peer(case), text(&case["verdict"]));
        let fails = has_none && case["verdict"] != "unavailable";
        if fails { Absent::Anywhere(reason) } else { Absent::Here(reason) }
    })
}

/// The evidence around a case: what served it, the device's traffic relative to the case's, and
/// whether its bytes were verified.
fn evidence(case: &Value) -> String {
    let mut words = vec![text(&case["served_by"]).to_owned()];
    let device = case["writing"]["device_write_bytes"].as_f64().or(case["device_bytes"].as_f64());
    if let (Some(device), Some(moved)) = (device, case["bytes_per_trial"].as_f64()) {
        words.push(format!("device {:.0} %", 100.0 * device / moved.max(1.0)));
    }
    words.push(match case["digest_verified"].as_bool() {
        Some(true) => "bytes right".to_owned(),
        Some(false) => "bytes wrong".to_owned(),
        None => String::new(),
    });
    if case["verdict"] != "sound" {
        let codes = list(&case["findings"]).iter();
        let codes = codes.filter(|found| found["severity"] != "note");
        let codes: Vec<&str> = codes.map(|found| text(&found["code"])).collect();
        words.push(format!("{}: {}", text(&case["verdict"]), codes.join(" ")));
    }
    words.retain(|word| !word.is_empty());
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn case(id: &str, peer: &str, rate: f64, verdict: &str) -> Value {
        json!({
            "id": id, "role": "asked", "n": 7, "verdict": verdict, "served_by": "device",
            "case": { "peer": peer, "engine": "uring", "block": 4096 },
            "throughput": { "median": rate, "low": null, "high": null },
            "cpu_ns_per_op": 1e9 / rate, "device_bytes": 200, "bytes_per_trial": 100,
            "digest_verified": null, "failures": [],
            "findings": [{ "code": "Foreign", "severity": "doubt", "message": "others read" }],
        })
    }

    fn run(verdict: &str) -> Value {
        let cases = [case("a", "rust", 20.0, "sound"), case("b", "fio", 10.0, verdict)];
        let compared = json!({ "case": "b", "base": "a", "ratio": 0.5, "low": 0.4, "high": 0.8 });
        let skip = |peer: &str, reason: &str| {
            let case = json!({ "peer": peer, "engine": "uring" });
            json!({ "case": case, "reason": reason })
        };
        let skips = [
            skip("dd", "the peer dd has no engine uring"),
            skip("sysbench", "the peer sysbench: sysbench is not on the PATH: install sysbench"),
        ];
        json!({ "cases": cases, "comparisons": [compared], "skips": skips })
    }

    fn row(run: &Value, of: &str, with: &str) -> BenchRow {
        let text = format!("name = 'r'\nof = '{of}'\ncase = {{ engine = 'uring' }}\nwith = {with}");
        toml::from_str::<RowDefinition>(&text).expect("it is whole").answer(run)
    }

    #[test]
    fn a_ratio_is_that_of_the_comparison_turned_to_ours() {
        let row = row(&run("doubtful"), "throughput", "{ peer = 'fio' }");
        let expected = Figure { median: 2.0, interval: Some((1.25, 2.5)) };
        assert_eq!(row.figure, Ok(expected));
        assert_eq!((row.ours.as_str(), row.theirs.as_str()), ("0.0 MB/s", "fio: 0.0 MB/s"));
        let expected = "device, device 200 % · device, device 200 %, doubtful: Foreign";
        assert_eq!(row.evidence, expected);
    }

    #[test]
    fn what_the_other_case_adds_is_a_time() {
        let mut run = run("sound");
        for (case, ns) in [(0, 30.0), (1, 52.5)] {
            run["cases"][case]["ns_per_op"] = json!({ "median": ns, "low": null, "high": null });
        }
        let row = row(&run, "added-time", "{ peer = 'fio' }");
        assert_eq!(row.figure, Ok(Figure { median: 22.5, interval: None }));
        assert_eq!((row.unit, row.show().as_str()), (RowUnit::Nanoseconds, "22.5 ns"));
        // A case with a rate has operations per second, and no time of one.
        let open = &mut run["cases"][1];
        (open["ns_per_op"], open["case"]["threads"]) = (Value::Null, json!(2));
        open["iops"] = json!({ "median": 2.0 * 1e9 / 50.0 });
        let row = self::row(&run, "added-time", "{ peer = 'fio' }");
        assert_eq!(row.figure, Ok(Figure { median: 20.0, interval: None }));
    }

    #[test]
    fn what_is_not_compared_has_the_ratio_of_the_medians() {
        let row = row(&run("sound"), "cpu", "{ peer = 'fio' }");
        assert_eq!(row.figure, Ok(Figure { median: 0.5, interval: None }));
        assert_eq!(self::row(&run("sound"), "throughput", "{}").unit, RowUnit::BytesPerSecond);
        let best = self::row(&run("sound"), "throughput", "{ peer = 'best' }");
        assert_eq!(best.figure.map(|found| found.median), Ok(2.0));
    }

    #[test]
    fn what_is_missing_gives_its_reason() {
        let check = |run: &Value, with: &str, expected: &Absent| {
            let row = row(run, "throughput", with);
            assert_eq!(row.figure.as_ref(), Err(expected));
            assert_eq!(row.show(), expected.reason());
        };
        let [here, anywhere] = [
            |text: &str| Absent::Here(text.to_owned()),
            |text: &str| Absent::Anywhere(text.to_owned()),
        ];
        check(&run("void"), "{ peer = 'fio' }", &here("fio is void: others read"));
        let missing = "the peer sysbench: sysbench is not on the PATH: install sysbench";
        check(&run("void"), "{ peer = 'sysbench' }", &here(missing));
        check(&run("void"), "{ peer = 'dd' }", &anywhere("the peer dd has no engine uring"));
        check(&run("void"), "{ peer = 'zebra' }", &anywhere("the run has no such case"));
        let mut failed = run("void");
        failed["cases"][1]["n"] = json!(0);
        failed["cases"][1]["failures"] = json!([{ "reason": "it crashed" }]);
        check(&failed, "{ peer = 'fio' }", &anywhere("fio is void: it crashed"));
        let mut unknown = run("sound");
        unknown["cases"][0]["throughput"] = Value::Null;
        let expected = here("the case lacks this figure: throughput");
        check(&unknown, "{}", &expected);
        unknown["cases"][0].as_object_mut().expect("it is a case").remove("throughput");
        check(&unknown, "{}", &anywhere(expected.reason()));
    }
}
