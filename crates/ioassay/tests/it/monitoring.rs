//! Metrics, alerts, a dashboard and a timer, with the programs that they are for.

use crate::documents::root;
use crate::sandbox::{PROGRAM, Sandbox, argument, skip, text, wait_for};
use serde_json::Value;
use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

/// Where the files are.
fn folder() -> PathBuf {
    root().join("docs/monitoring")
}

/// The text of one of the files.
fn file(name: &str) -> String {
    std::fs::read_to_string(folder().join(name)).unwrap()
}

/// Runs promtool in the folder of the files; `None` where it is missing.
fn promtool(args: &[&str]) -> Option<Output> {
    Command::new("promtool").args(args).current_dir(folder()).output().ok()
}

/// Metrics of a kept survey.
fn metrics(sandbox: &Sandbox) -> String {
    let record = root().join("records/2026-11-22-survey.jsonl");
    sandbox.says(&["report", argument(&record), "--openmetrics", "ioassay.prom"]);
    std::fs::read_to_string(sandbox.path("ioassay.prom")).unwrap()
}

/// The queries of the dashboard, with each variable as Grafana sets it for "All".
fn queries() -> Vec<String> {
    let dashboard: Value = serde_json::from_str(&file("grafana.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let query = |target: &Value| {
        let query = target["expr"].as_str().unwrap();
        ["$instance", "$recipe", "$case"].iter().fold(query.to_string(), |query, variable| {
            query.replace(&format!("\"{variable}\""), "\".*\"")
        })
    };
    targets.map(query).collect()
}

#[test]
fn alerts_and_dashboard_ask_for_metrics_that_are() {
    let sandbox = Sandbox::new();
    let known = metrics(&sandbox);
    let known: BTreeSet<&str> =
        known.lines().filter_map(|line| line.split('{').next()).map(str::trim).collect();
    let asked = queries().join("\n") + &file("ioassay.rules.yml") + &file("../monitoring.md");
    let names = asked.match_indices("ioassay_").map(|(at, _)| {
        let is_of_name = |letter: char| letter.is_ascii_lowercase() || "_".contains(letter);
        asked[at..].split(|letter| !is_of_name(letter)).next().unwrap()
    });
    let names: BTreeSet<&str> = names.collect();
    assert!(names.len() >= 8, "{names:?}");
    // Every run has them but one whose requested cases sync in no call of their own.
    let unknown: Vec<_> = names.iter().filter(|name| !known.contains(**name)).collect();
    assert!(unknown.is_empty(), "{unknown:?} of {known:?}");
}

#[test]
fn a_case_has_one_name_on_hosts_with_other_instruction_sets_and_memory() {
    let sandbox = Sandbox::new();
    let known = metrics(&sandbox);
    for machine in ["case=\"memory read avx", "MiB t1\"", "of 256MiB\"", "of 1GiB\""] {
        assert!(!known.contains(machine), "{machine}");
    }
    for part in ["case=\"memory read t1\"", "isa=\"avx512\"", "size_bytes=\"268435456\""] {
        assert!(known.contains(part), "{part}");
    }
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn each_alert_is_raised_with_its_fault_and_silent_without() {
    let Some(checked) = promtool(&["check", "rules", "ioassay.rules.yml"]) else {
        return skip("promtool checks the alerts", "prometheus (promtool) is missing");
    };
    assert!(checked.status.success(), "{checked:?}");
    let tested = promtool(&["test", "rules", "ioassay.rules.test.yml"]).unwrap();
    assert!(tested.status.success(), "{tested:?}");
    let rules = file("ioassay.rules.yml");
    let names: Vec<&str> =
        rules.lines().filter_map(|line| line.trim().strip_prefix("- alert: ")).collect();
    let tests = file("ioassay.rules.test.yml");
    for name in names {
        let lines = tests.lines().filter(|line| line.contains(&format!("alertname: {name}")));
        assert_eq!(lines.count(), 2, "{name} has a test with its fault, and one without");
    }
}

#[test]
fn systemd_has_nothing_to_say_of_the_timer() {
    let sandbox = Sandbox::new();
    for unit in ["ioassay.service", "ioassay.timer"] {
        let unit_text = file(unit).replace("/usr/bin/ioassay", PROGRAM);
        std::fs::write(sandbox.path(unit), unit_text).unwrap();
    }
    let verify = |unit: &str| {
        let mut command = Command::new("systemd-analyze");
        let command = command.args(["verify", "--man=no", "--recursive-errors=no", unit]);
        command.current_dir(sandbox.directory()).output()
    };
    let Ok(_) = verify("./ioassay.timer") else {
        return skip("systemd verifies the timer", "systemd (systemd-analyze) is missing");
    };
    for unit in ["./ioassay.service", "./ioassay.timer"] {
        let output = verify(unit).unwrap();
        let said = text(&output.stderr);
        assert!(output.status.success() && !said.contains("ioassay."), "{unit}: {output:?}");
    }
    std::fs::write(sandbox.path("ioassay.timer"), "[Timer]\nOnCalendar=someday\n").unwrap();
    let output = verify("./ioassay.timer").unwrap();
    assert!(text(&output.stderr).contains("ioassay.timer"), "one that accepts all says nothing");
}

/// A server; killed on drop.
struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts `program` with `args`, in which PORT is a free one; `None` where it is missing.
    fn start(sandbox: &Sandbox, program: &str, args: &[&str]) -> Option<Server> {
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let args = args.iter().map(|arg| arg.replace("PORT", &port.to_string()));
        let log = std::fs::File::create(sandbox.path(&format!("{program}.log"))).unwrap();
        let mut command = sandbox.start(program);
        let child = command.args(args).stdout(Stdio::null()).stderr(log).spawn().ok()?;
        Some(Server { child, port })
    }

    /// The body of its answer; `None` while it gives none.
    fn get(&self, path: &str) -> Option<String> {
        let mut connection = TcpStream::connect(("127.0.0.1", self.port)).ok()?;
        let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        connection.write_all(request.as_bytes()).ok()?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.split(' ').nth(1).filter(|status| *status == "200")?;
        Some(body.to_string())
    }

    /// The result of a query; `None` while there is none.
    fn query(&self, query: &str) -> Option<Vec<Value>> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.get(&format!("/api/v1/query?query={encoded}"))?;
        let answer: Value = serde_json::from_str(&answer).ok()?;
        let result = answer["data"]["result"].as_array()?.clone();
        (!result.is_empty()).then_some(result)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The configuration of a Prometheus that collects often, with the alerts. It waits for an answer
/// for no longer than the interval, so that is not as short as it could be.
fn configuration(exporter: u16) -> String {
    format!(
        "global: {{ scrape_interval: 1s, evaluation_interval: 200ms }}\n\
         rule_files: ['{}']\n\
         scrape_configs: [ {{ job_name: node, static_configs: \
         [ {{ targets: ['127.0.0.1:{exporter}'] }} ] }} ]\n",
        folder().join("ioassay.rules.yml").display()
    )
}

#[test]
#[ignore = "slow: a part of cargo xtask test"]
fn prometheus_collects_a_run_by_node_exporter_and_loads_the_alerts() {
    let sandbox = Sandbox::new();
    let written = metrics(&sandbox);
    let textfile = format!("--collector.textfile.directory={}", argument(sandbox.directory()));
    let address = "--web.listen-address=127.0.0.1:PORT";
    let few = ["--collector.disable-defaults", "--collector.textfile", address, &textfile];
    let Some(exporter) = Server::start(&sandbox, "prometheus-node-exporter", &few) else {
        return skip("Prometheus collects a run", "prometheus-node-exporter is missing");
    };
    let exported = wait_for("the node exporter", || exporter.get("/metrics"));
    assert!(exported.contains("node_textfile_scrape_error 0"), "{exported}");
    let samples = |text: &str| text.lines().filter(|line| line.starts_with("ioassay_")).count();
    assert_eq!(samples(&exported), samples(&written));

    std::fs::write(sandbox.path("prometheus.yml"), configuration(exporter.port)).unwrap();
    let data = ["--config.file=prometheus.yml", "--storage.tsdb.path=data", address];
    let Some(prometheus) = Server::start(&sandbox, "prometheus", &data) else {
        return skip("Prometheus collects a run", "prometheus is missing");
    };
    wait_for("a run in Prometheus", || prometheus.query("ioassay_run_info"));
    // No figure of this run is about a case that is not valid.
    for query in queries().iter().filter(|query| !query.contains("void|failed")) {
        // An exporter that once answers too late has no metrics until the next time.
        wait_for(query, || prometheus.query(query));
    }
    let rules = wait_for("the alerts", || {
        let rules: Value = serde_json::from_str(&prometheus.get("/api/v1/rules")?).ok()?;
        let rules = rules["data"]["groups"][0]["rules"].as_array()?.clone();
        rules.iter().all(|rule| rule["health"] == "ok").then_some(rules)
    });
    assert_eq!(rules.len(), 5, "{rules:?}");
    // The record is of another day, which is what the first alert is for.
    let raised = wait_for("an alert", || prometheus.query("ALERTS{alertname=\"IoassayNoRun\"}"));
    assert_eq!(raised[0]["metric"]["recipe"], "survey");
    let at = |path: &Path| path.join("ioassay.prom").is_file();
    assert!(at(sandbox.directory()), "the file is still there");
}
