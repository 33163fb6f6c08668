"""All forms of one record say the same, and end with the same status."""

import collections
import csv
import io
import json
import re

from laws import Fault

WORDS = ("sound", "doubtful", "void", "failed", "unavailable")
SAMPLE = re.compile(r'^(\w+)\{(.*)\} (\S+)$')
VERDICT = re.compile(r"  (sound|doubtful|void|failed|unavailable|not run)( [a-z]+)?$")
MARKED = re.compile(r"\| (sound|doubtful|void|failed|unavailable)(?: [a-z]+)? \|$", re.MULTILINE)
FENCE = re.compile(r"```sh\n(.*?)\n```", re.DOTALL)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def forms(played):
    """Yields what one form says and another does not."""
    said = played.said
    wanted = int(any(row["role"] == "asked" and row["verdict"] not in ("sound", "doubtful")
                     for row in said["cases"]))
    for name, status in [("run", played.status),
                         *((name, form[0]) for name, form in played.forms.items())]:
        if status != wanted:
            yield Fault("forms", "", f"{name} ends with {status}, its verdicts with {wanted}")
    yield from json_again(said, json.loads(played.forms["json"][1]))
    yield from table(said, played.forms["csv"][1])
    if not played.question.built_in:
        # Recipes of ioassay's own have tables of other shapes.
        yield from text(said, played.forms["text"][1])
        yield from markdown(played, played.forms["markdown"][1])
    yield from metrics(said, played.forms["metrics"][1])


def json_again(said, again):
    """The report of the record is what the run printed."""
    for name in ("cases", "comparisons", "findings", "answer", "skips"):
        if said[name] != again[name]:
            yield Fault("forms", "", f"{name} differ between the run's JSON and the report's")


def table(said, csv_text):
    rows = {}
    for line in csv.DictReader(io.StringIO(csv_text)):
        rows.setdefault(line["case"], []).append(line)
    for row in said["cases"]:
        lines = rows.get(row["id"], [])
        if {line["verdict"] for line in lines} - {row["verdict"]}:
            yield Fault("forms", row["id"], f"CSV does not say {row['verdict']}")
        figures = [trial["figures"] for trial in row["trials"] if trial.get("figures")]
        in_csv = sorted(float(line["throughput_bytes_per_second"]) for line in lines
                        if line["throughput_bytes_per_second"])
        in_json = sorted(figure["throughput"] for figure in figures
                         if figure.get("throughput") is not None)
        if len(in_csv) != len(in_json) or any(abs(a - b) > 1e-6 * b
                                              for a, b in zip(in_csv, in_json)):
            yield Fault("forms", row["id"], f"throughputs {in_csv[:3]} in CSV, {in_json[:3]} in "
                        "JSON")


def text(said, printed):
    """Each verdict stands in the first table as often as in JSON."""
    counts = collections.Counter()
    parts = printed.split("\n\n")
    for line in parts[1].splitlines() if len(parts) > 1 else ():
        if (found := VERDICT.search(line)):
            counts[found[1]] += 1
    wanted = collections.Counter(row["verdict"] for row in said["cases"] if row["role"] == "asked"
                                 and row["verdict"] in WORDS)
    if counts != wanted:
        yield Fault("forms", "", f"{dict(counts)} rows in the text, {dict(wanted)} in JSON")


def markdown(played, printed):
    """Its tables, of which a row may be in several, have the verdicts of JSON, and its command is
    the one that was run."""
    verdicts = set(MARKED.findall(printed))
    wanted = {row["verdict"] for row in played.said["cases"]
              if row["role"] == "asked" and row["verdict"] in WORDS}
    if verdicts != wanted:
        yield Fault("forms", "", f"{verdicts} rows in Markdown, {wanted} in JSON")
    command = (FENCE.findall(printed) or [""])[-1]
    for option, value in (("--memory", played.question.memory),
                          ("--sustain", played.question.sustained),
                          ("--file", played.question.file)):
        if bool(value) != (option in command.split()):
            yield Fault("forms", "", f"{option} {value} was asked, its command is: {command}")


def metrics(said, exposition):
    """Each case has its verdict and its figures, in the order of JSON."""
    verdicts, rates = [], {}
    for line in exposition.splitlines():
        if (sample := SAMPLE.match(line)):
            labels = dict(LABEL.findall(sample[2]))
            if sample[1] == "ioassay_case_verdict" and float(sample[3]) == 1:
                verdicts.append((labels["case"], labels["verdict"]))
            elif sample[1] == "ioassay_throughput_bytes_per_second":
                rates[labels["case"], labels.get("quantity")] = float(sample[3])
    wanted = [row["verdict"] for row in said["cases"]]
    if [verdict for _, verdict in verdicts] != wanted:
        yield Fault("forms", "", f"metrics say {verdicts}, JSON {wanted}")
        return
    for row, (name, _) in zip(said["cases"], verdicts):
        writing = row["writing"] or {}
        for (case, quantity), value in rates.items():
            figure = writing.get(quantity) or row["throughput"]
            if case == name and abs(value - figure["median"]) > 1e-6 * value:
                yield Fault("forms", row["id"], f"{quantity}: {value} in metrics, "
                            f"{figure['median']} in JSON")
