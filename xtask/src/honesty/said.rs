//! What a tool prints, in its own words.

use crate::json::{self, asked, list};
use assess::finding::Code;
use assess::summary::ServedBy;
use serde::Deserialize;
use serde_json::Value;
use std::process::Output;

/// A tool's output about a run.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Said {
    /// Its figure.
    pub(super) headline: String,
    /// Whether it measured: of ioassay, whether it reports on the case, also without a figure.
    pub(super) is_answer: bool,
    /// Other output that bears on the fault but is not a warning.
    pub(super) beside: Option<String>,
    /// Its warning.
    pub(super) warning: Option<String>,
}

impl Said {
    fn new(figure: Option<&str>, beside: Option<String>, warning: Option<String>) -> Said {
        let headline = figure.unwrap_or("no figure").to_owned();
        Said { headline, is_answer: figure.is_some(), beside, warning }
    }
}

/// What counts as a warning by ioassay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum WarningSign {
    /// A finding with this code.
    Finding(Code),
    /// It names this as what served the bytes.
    Served(ServedBy),
    /// Trials failed, with a reason.
    Failure,
}

/// Parses fio's output: the line with the rate and the disk statistics. Complaints and short
/// operations count as warnings.
pub(super) fn of_fio(output: &Output) -> Said {
    let text = text(output);
    let lines = || text.lines().map(str::trim);
    let is_figure = |line: &&str| line.starts_with("read: IOPS") || line.starts_with("write: IOPS");
    let figure = lines().find(is_figure);
    let disk = lines().skip_while(|line| !line.starts_with("Disk stats")).nth(1);
    let beside = disk.and_then(|line| line.split(", merge=").next()).map(str::to_owned);
    let complaint = lines().find(|line| {
        let speaks = line.starts_with("fio: ") || line.to_lowercase().contains("warning");
        // This complaint is about fio's own options, not about the measurement.
        speaks && !line.contains("iodepth")
    });
    let short = lines().find_map(|line| {
        let short = line.split_once("short=")?.1.split(' ').next()?;
        short.split(',').any(|n| n != "0").then(|| format!("short={short}"))
    });
    Said::new(figure, beside, complaint.map(str::to_owned).or(short))
}

/// Parses dd's output: the line with bytes and time. Complaints and partial blocks count as
/// warnings.
pub(super) fn of_dd(output: &Output) -> Said {
    let text = text(output);
    let figure = text.lines().find(|line| line.contains(" copied, "));
    let complaint = text.lines().find(|line| line.starts_with("dd: "));
    let short = text.lines().find(|line| {
        let records = line.split_once('+').and_then(|(_, after)| after.split_once(" records in"));
        records.is_some_and(|(short, _)| short != "0")
    });
    Said::new(figure, None, complaint.or(short).map(str::to_owned))
}

/// Parses ioassay's `--json` output for the requested case. Any of `signs` counts as a warning.
pub(super) fn of_ioassay(output: &Output, signs: &[WarningSign]) -> Said {
    let report: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let Some(case) = asked(&report).next() else {
        let text = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        let warning = Some(text).filter(|text| !text.is_empty());
        return Said::new(None, None, warning);
    };
    let verdict = case["verdict"].as_str().unwrap_or("unknown");
    let served_by = case["served_by"].as_str();
    let served = served_by.map(|by| format!(", served by {by}")).unwrap_or_default();
    let headline = format!("{}{served}: {verdict}", figure(case));
    let findings = findings(&report, case);
    let mut codes: Vec<String> = Vec::new();
    for finding in &findings {
        let [code, severity] = ["code", "severity"].map(|name| finding[name].as_str());
        let code = format!("{} ({})", code.unwrap_or("?"), severity.unwrap_or("?"));
        if !codes.contains(&code) {
            codes.push(code);
        }
    }
    let warning = signs.iter().find_map(|sign| match sign {
        WarningSign::Finding(code) => {
            let finding = findings.iter().find(|finding| finding["code"] == code.name())?;
            Some(format!("{code}: {}", json::text(&finding["message"])))
        }
        WarningSign::Served(by) => {
            (served_by == Some(by.name())).then(|| format!("served by {by}"))
        }
        WarningSign::Failure => case["failures"][0]["reason"].as_str().map(str::to_owned),
    });
    let beside = Some(codes.join(", ")).filter(|codes| !codes.is_empty());
    Said::new(Some(&headline), beside, warning)
}

/// A case's figure as shown to readers: bytes per second, and IOPS for small blocks.
fn figure(case: &Value) -> String {
    let median = |name: &str| case.pointer(&format!("/{name}/median")).and_then(Value::as_f64);
    let Some(rate) = median("throughput").or_else(|| median("writing/durable/throughput")) else {
        return "no figure".to_owned();
    };
    let rate = model::units::rate(rate);
    match median("iops") {
        Some(iops) if case["case"]["block"].as_u64().is_some_and(|block| block < 1 << 16) => {
            format!("{rate}, {iops:.0} IOPS")
        }
        _ => rate,
    }
}

/// The findings of a case and of the whole run.
fn findings<'a>(report: &'a Value, case: &'a Value) -> Vec<&'a Value> {
    let of_all = list(&report["findings"]).iter();
    let of_all = of_all.filter(|finding| list(&finding["cases"]).is_empty());
    list(&case["findings"]).iter().chain(of_all).collect()
}

/// Everything that was printed.
fn text(output: &Output) -> String {
    let [out, err] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    format!("{out}\n{err}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::process::ExitStatus;

    fn output(stdout: &str, stderr: &str) -> Output {
        let [stdout, stderr] = [stdout, stderr].map(|text| text.as_bytes().to_vec());
        Output { status: ExitStatus::default(), stdout, stderr }
    }

    /// Output of fio 3.33, without irrelevant lines.
    const FIO: &str = "\
note: both iodepth >= 1 and synchronous I/O engine are selected, queue depth will be capped at 1
x: (groupid=0, jobs=1): err= 0: pid=16302: Sat Nov 21 14:27:41 2026
  read: IOPS=604, BW=604MiB/s (634MB/s)(605MiB/1001msec)
     issued rwts: total=605,0,0,0 short=0,0,0,0 dropped=0,0,0,0
Disk stats (read/write):
  vda: ios=557/0, merge=0/0, ticks=706/0, in_queue=707, util=60.71%
";

    #[test]
    fn fio_is_quoted() {
        let said = of_fio(&output(FIO, ""));
        assert_eq!(said.headline, "read: IOPS=604, BW=604MiB/s (634MB/s)(605MiB/1001msec)");
        assert_eq!(said.beside.as_deref(), Some("vda: ios=557/0"));
        assert_eq!(said.warning, None);
        let short = of_fio(&output(&FIO.replace("short=0,0", "short=7,0"), ""));
        assert_eq!(short.warning.as_deref(), Some("short=7,0,0,0"));
        let error = "fio: io_u error on file f: Input/output error: read offset=1";
        assert_eq!(of_fio(&output(FIO, error)).warning.as_deref(), Some(error));
        let nothing = of_fio(&output("", ""));
        assert_eq!((nothing.headline.as_str(), nothing.is_answer), ("no figure", false));
        assert!(said.is_answer);
    }

    #[test]
    fn dd_is_quoted() {
        let line = "67108864 bytes (67 MB, 64 MiB) copied, 0.428782 s, 157 MB/s";
        let check = |before: &str, warning: Option<&str>| {
            let said = of_dd(&output("", &format!("{before}\n64+0 records out\n{line}\n")));
            assert_eq!(said.headline, line);
            assert_eq!(said.warning.as_deref(), warning);
        };
        check("64+0 records in", None);
        check("60+8 records in", Some("60+8 records in"));
        let partial = "dd: warning: partial read (512 bytes); suggest iflag=fullblock";
        check(&format!("{partial}\n60+8 records in"), Some(partial));
    }

    fn report() -> Value {
        let finding = |code: &str, message: &str, cases: Value| {
            json!({ "code": code,
            "severity": "note", "message": message, "cases": cases })
        };
        json!({
            "cases": [
                { "role": "baseline" },
                { "role": "asked", "verdict": "doubtful", "served_by": "page-cache",
                  "case": { "block": 4096 }, "throughput": { "median": 4.096e6 },
                  "iops": { "median": 1000.0 }, "failures": [{ "reason": "it failed" }],
                  "findings": [finding("Ram", "it is memory", json!(null))] },
            ],
            "findings": [
                finding("Ram", "it is memory", json!(["a case"])),
                finding("VirtualDevice", "it is virtual", json!([])),
            ],
        })
    }

    #[test]
    fn ioassay_is_quoted() {
        let check = |signs: &[WarningSign], warning: Option<&str>| {
            let said = of_ioassay(&output(&report().to_string(), ""), signs);
            assert_eq!(said.headline, "4.10 MB/s, 1000 IOPS, served by page-cache: doubtful");
            assert_eq!(said.beside.as_deref(), Some("Ram (note), VirtualDevice (note)"));
            assert_eq!(said.warning.as_deref(), warning);
        };
        check(&[], None);
        check(&[WarningSign::Finding(Code::NoIo), WarningSign::Served(ServedBy::Ram)], None);
        let signs = [Code::NoIo, Code::Ram].map(WarningSign::Finding);
        check(&signs, Some("Ram: it is memory"));
        check(&[WarningSign::Served(ServedBy::PageCache)], Some("served by page-cache"));
        check(&[WarningSign::Failure], Some("it failed"));
    }

    #[test]
    fn a_refusal_of_ioassay_is_its_warning() {
        let said = of_ioassay(&output("", "ioassay: it cannot\n"), &[]);
        assert_eq!((said.headline.as_str(), said.is_answer), ("no figure", false));
        assert_eq!(said.warning.as_deref(), Some("ioassay: it cannot"));
    }
}
