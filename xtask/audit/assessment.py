"""The complete answer for a record, in the form of `ioassay report --json`, as far as it is
audited."""

import math

import answers
import arrays
import ceilings
import comparisons
import findings
import goals
import loads
import mixed
import shared
import steady
import open_loop
from intervals import median, whole
from record import TIMES, Case, quantity
from repetition import repetition
from rows import SEVERITIES, Row
from verdicts import run_findings

NS = 1e9
FORMAT = 3
# Values that the audit adopts from ioassay where random orders do not decide.
UNDECIDED = "undecided"


def assess(record, said):
    """Recomputes the answer. From ioassay's answer `said`, it only uses the case ids and the values
    in `UNDECIDED`."""
    all_rows = [Row(record, number) for number in range(len(record.cases))]
    rows = [row for role in ("asked", "baseline") for row in all_rows if row.role == role]
    twins = [row for row in all_rows if row.role == "twin"]
    for row, told in zip(rows + twins, said["cases"]):
        row.id = told["id"]
    for row, told in zip(rows + twins, said["cases"]):
        findings.find(row, ceilings.overhead_of(row, rows))
        leave_undecided(row, told)
    if not any(record.caches):
        record.caches = (None, answers.last_cache_below(rows))
    arrays.place(rows + twins, answers.all_levels(rows))
    ceilings.bound(rows)
    control = comparisons.control(rows, twins, len(twins), said["control"])
    return {
        **facts(record, said),
        "format": FORMAT,
        "cases": [case(row) for row in rows + twins],
        "comparisons": [comparisons.adopt(one, said["comparisons"])
                        for one in comparisons.comparisons(rows)],
        "control": control,
        "repetition": repetition(record, rows),
        "findings": run_findings(rows + twins, record),
        "overhead_ns": ceilings.overhead(rows),
        "fit": goals.fit(record, rows),
        "answer": answers.answer(rows),
        "saturations": answers.saturations(rows),
        "loads": loads.loads(rows, record.plan),
        "depths": loads.depths(rows),
        "interferences": loads.interferences(rows),
        "steady": steady.steady(rows, said["steady"]),
        "loaded_latencies": loads.loaded_latencies(rows),
        "levels": answers.all_levels(rows),
        "counting": answers.counting(rows),
        "writing": answers.writing(rows),
        "touching": answers.touching(rows),
        UNDECIDED: [f"{row.id}: {code}" for row in rows + twins for code in sorted(row.maybe)],
    }


def leave_undecided(row, told):
    """Adopts ioassay's finding if random orders may decide either way."""
    found = {one["code"]: one["severity"] for one in told["findings"]}
    for code in row.maybe:
        row.findings.pop(code, None)
        row.find(code, found.get(code))


def facts(record, said):
    """Recorded facts, which the report must repeat unchanged."""
    plan, header = record.plan, record.header
    alike = ("tool", "began", "fixtures", "peers")
    resumed = [one["resumed"] for one in record.invocations if one.get("resumed")]
    return {**{name: echo(header.get(name), said[name]) for name in alike}, "resumed": resumed,
            "host": machine(record.host, said["host"]), "end": record.end, "recipe": plan["recipe"], "rounds": plan["rounds"],
            "seed": plan["seed"], "memory_limit": plan.get("memory_limit"),
            "storage": storage(record.storage, said["storage"]),
            "source_storage": storage(header.get("source_storage"), said["source_storage"]),
            "further_storages": [storage(one, other) for one, other
                                 in zip(record.further, said["further_storages"])],
            "vitals": echo(record.vitals, said["vitals"]),
            "bound": echo(plan.get("bound"), said["bound"]),
            "sustain_s": plan.get("sustain") and seconds(plan["sustain"]),
            "campaign": campaign(record, said["campaign"]),
            "calibrated": [chosen(one) for one in header.get("calibrated", [])],
            "skips": [skip(one) for one in plan.get("skips", [])]}


def chosen(measured):
    """The measured shapes of a loop, with the choice: the first within 1 % of the fastest."""
    candidates = measured["candidates"]
    fastest = max(one["throughput"] for one in candidates)
    first = next(one for one in candidates if one["throughput"] >= 0.99 * fastest)
    return {**measured, "chosen": first["shape"]}


def campaign(record, said):
    """What a run did with the time that it was given; None without one."""
    plan = record.plan
    if not plan.get("budget"):
        return None
    rounds = {}
    for trial in record.trials:
        rounds.setdefault(trial.round, set()).add(trial.case)
    planned = [cases for round, cases in rounds.items() if round < plan["rounds"]]
    whole = sum(len(cases) == len(plan["cases"]) for cases in planned)
    # How much memory a record takes is ioassay's own measure.
    return {"for_s": seconds(plan["budget"]), "planned_rounds": whole,
            "further_rounds": len(rounds) - len(planned), "is_full": said["is_full"]}


def echo(fact, said):
    """The recorded values of everything named in `said`; None if there are none."""
    if fact is None and isinstance(said, (dict, list)):
        fact = type(said)()
    if isinstance(said, dict) and isinstance(fact, dict):
        return {name: echo(fact.get(name), value) for name, value in said.items()}
    if isinstance(said, list):
        fact = fact or []
        if len(said) == len(fact):
            return [echo(one, other) for one, other in zip(fact, said)]
    return fact


def seconds(time):
    """A duration as serde writes it, or as text."""
    if isinstance(time, dict):
        return time["secs"] + time["nanos"] / NS
    return quantity(time, TIMES) / NS


def machine(host, said):
    """The machine, with two derived facts."""
    told = echo(host, said)
    cores, quota = host["cores"], host.get("cpu_quota")
    told["parallelism"] = max(1, cores if quota is None else min(cores, math.ceil(quota)))
    told["huge_page"] = findings.huge_page(host)
    return told


def storage(one, said):
    """The storage, with the JSON's own names for some facts."""
    if one is None or said is None:
        return one
    direct = one["direct"]
    accepted = direct["accepted"] if isinstance(direct, dict) else None
    told = echo(one, said)
    for device, shown in zip(one["devices"], told["devices"]):
        if device.get("file"):
            names = [below["name"] for below in device["file"]["devices"]]
            shown["file"] = dict(device["file"], devices=names)
    told["limits"] = [dict(limit, what=spaced(limit["what"])) for limit in one.get("limits") or []]
    told["lacks_sys"] = bool(one.get("lacks_sys"))
    told["direct_accepted"] = accepted is not None
    told["direct_align"] = accepted and accepted["offset_align"]
    told["direct_bypasses"] = accepted and accepted.get("bypasses")
    return told


def spaced(word):
    return word.replace("_", " ").replace("-", " ")


def skip(one):
    return {"reason": one["reason"], "case": axes(Case(one["case"]))}


def case(row):
    """A case in JSON form."""
    is_durable = bool(row.durable_rates())
    return {
        "id": row.id, "role": row.role, "n": len(row.counted), "case": axes(row.case),
        "failures": row.failures(), "excluded": row.excluded(),
        "verdict": row.verdict, "served_by": row.served_by, "hit_share": row.hit_share,
        "hit_share_most": row.hit_share_most,
        "throughput": row.throughput, "loaded": loaded(row),
        "bus": row.bus, "level": row.cache_level,
        "iops": row.iops, "ns_per_op": row.ns_per_op,
        "latency_ns": row.histogram.latency(),
        "latency_ns_intervals": row.histogram.intervals(),
        "open": open_loop.told(row), "mixed": mixed.told(row), "shared": shared.told(row), "writing": row.writing, "course": row.course, "spent": row.spent(),
        "imbalance_percent": row.imbalance,
        "setup_ns": median(trial.done["setup_ns"] for trial in row.counted),
        "warm_up_ns": row.warm_up_ns(),
        "cpu_ns_per_op": median(row.values(open_loop.cpu_per_op)),
        "start_skew_ns": median(one.start_skew_ns for one in row.figures),
        "counters": {name: row.of_spans(name) for name in (
            "minor_faults", "major_faults", "switches_voluntary", "switches_involuntary")},
        "bytes_per_trial": whole(median(one.bytes for one in row.figures)),
        "device_bytes": row.whole("task_read_bytes"),
        "folio_bytes": row.whole("folio_bytes"),
        "link": row.link, "ceiling": row.ceiling and row.ceiling.told(), "is_ceiling": row.is_ceiling,
        "of_memory": row.of_memory, "findings": found(row),
        "digest_verified": row.digest_verified(), "counted": row.counted_tens(),
        "trials": [trial(row, one, is_durable)
                   for one in sorted(row.trials, key=lambda one: one.round)],
    }


def loaded(row):
    if not row.loaded:
        return None
    ceiling = row.loaded_ceiling
    return {**row.loaded, "of_memory": row.loaded_of_memory,
            "ceiling": ceiling and ceiling.told()}


def found(row):
    """The findings of a case, most severe first; within a severity, by name."""
    told = [{"code": code, "severity": severity} for code, severity in row.findings.items()]
    return sorted(told, key=lambda one: (-SEVERITIES.index(one["severity"]), one["code"]))


def axes(case):
    told = dict(case.axes)
    told["time_s"] = told.pop("time") / NS
    if "sizes" in told:
        told["block"] = told.pop("sizes")
    if "kernel" not in told:
        told.setdefault("rate", None)
        told.setdefault("arrival", None)
    # A pattern without steps has one fixed stride, whatever older records contain.
    if told.get("pattern", "strided") != "strided":
        told["stride"] = 1
    return told


def trial(row, one, is_durable):
    fate, reason = row.fate(one)
    is_done = fate in ("counted", "excluded")
    figures = row.figures_of(one).told(is_durable) if is_done else None
    if figures:
        figures |= open_loop.of_trial(row.figures_of(one)) | mixed.of_trial(row.figures_of(one))
        figures |= shared.of_trial(one)
    return {"invocation": one.invocation, "round": one.round, "fate": fate, "reason": reason, "figures": figures}
