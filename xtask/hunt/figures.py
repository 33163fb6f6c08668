"""What must hold of a row's figures, whatever served its bytes.

Each law takes what was played and yields the faults that it finds. They follow from bytes, times
and counts alone, so a busy machine breaks none of them.
"""

import glob
from statistics import median

from laws import Fault, codes, flush_end, is_believed

# A figure may be rounded, and a clock is read by each thread.
ROUNDED = 0.005
# The least arrays that are not mostly in caches, in caches: what docs/method calls memory.
BEYOND = 2


def times(played):
    """No percentile is longer than the time of all operations allows: of the operations in flight,
    as many took that long."""
    for row, trials in played.rows():
        case = row["case"]
        if not trials or case.get("rate") or case.get("kernel"):
            continue
        at_once = case["threads"] * (case.get("depth") or 1)
        time_ns = sum(flush_end(trial) - trial.start for trial in trials) * at_once
        ops = sum(trial.ops for trial in trials)
        for name, above in (("p50", 0.5), ("p90", 0.1), ("p99", 0.01), ("p99_9", 0.001)):
            value = (row["latency_ns"] or {}).get(name)
            if value is not None and value * above * ops > 1.1 * time_ns + value:
                yield Fault("figures", row["id"], f"{name} is {value} ns, which {above:g} of {ops} "
                            f"operations cannot have taken in {time_ns} ns")


def shares(played):
    """Numbers that are shares are shares, and figures follow from bytes and time."""
    for row, _ in played.rows():
        for name in ("hit_share", "hit_share_most", "cacheable_share"):
            value = row.get(name)
            if value is not None and not 0 <= value <= 1:
                yield Fault("figures", row["id"], f"{name} is {value}")
        rate = row["throughput"]
        if rate and rate["low"] is not None and not rate["low"] <= rate["median"] <= rate["high"]:
            yield Fault("figures", row["id"], f"{rate['median']} is outside of its interval")
        no_bytes = row["case"].get("call") or row["case"].get("op") == "sync"
        figure = row["iops"] if no_bytes else row["throughput"]
        if row["verdict"] in ("sound", "doubtful") and not figure:
            yield Fault("figures", row["id"], f"{row['verdict']} without a figure")
        writing = row["writing"] or {}
        durable, taken = writing.get("durable"), writing.get("acknowledged")
        if durable and taken and durable["median"] > taken["median"] * (1 + ROUNDED):
            yield Fault("figures", row["id"], f"durable at {durable['median']:.0f} B/s, and "
                        f"acknowledged at {taken['median']:.0f}")
        latency = row["latency_ns"] or {}
        values = [latency.get(name) for name in ("p50", "p90", "p99", "p99_9", "p99_99", "max")]
        values = [value for value in values if value is not None]
        if values != sorted(values):
            yield Fault("figures", row["id"], f"percentiles do not rise: {values}")


def rates(played):
    """Each figure is the trials' bytes by their time, and the row's lies among them."""
    for row, trials in played.rows():
        if not trials or row["verdict"] not in ("sound", "doubtful") or row["case"].get("call"):
            continue
        ways = {"acknowledged": [trial.bytes / (trial.end - trial.start) * 1e9 for trial in trials],
                "durable": [trial.bytes / trial.seconds for trial in trials]}
        own = "acknowledged" if not row["case"].get("op") or row["case"]["sync"] == "none" \
            or (row["writing"] or {}).get("durable") is None else "durable"
        said = {own: row["throughput"], **{name: (row["writing"] or {}).get(name) for name in ways}}
        for name, figure in said.items():
            # Of a mix, what is written has a rate of its own.
            of_part = row["case"].get("read_share") and figure is not row["throughput"]
            if not figure or played.question.sustained or of_part:
                continue
            low, high = min(ways[name]), max(ways[name])
            if not low * (1 - ROUNDED) <= figure["median"] <= high * (1 + ROUNDED):
                yield Fault("figures", row["id"], f"{name} at {figure['median']:.0f} B/s, its "
                            f"trials had {low:.0f} to {high:.0f}")


def paced(played):
    """A rate is not exceeded, and what it reads past the page cache is as many requests."""
    for row, trials in played.rows():
        case = row["case"]
        if not case.get("rate") or not trials or not is_believed(row):
            continue
        # Chance decides how many are due: five standard deviations.
        due = [case["rate"] * trial.seconds for trial in trials]
        if any(trial.ops > 1.05 * wanted + 5 * wanted ** 0.5 + 2 * case["threads"]
               for trial, wanted in zip(trials, due)):
            yield Fault("figures", row["id"], f"more than {case['rate']} operations a second: "
                        f"{[trial.ops for trial in trials]}")


def caches_bytes():
    """The last-level caches of this machine together, or None if it does not say."""
    found = {}
    for folder in glob.glob("/sys/devices/system/cpu/cpu*/cache/index3"):
        with open(f"{folder}/size", encoding="ascii") as size, \
                open(f"{folder}/shared_cpu_map", encoding="ascii") as cpus:
            found[cpus.read()] = int(size.read().strip().removesuffix("K")) << 10
    return sum(found.values()) or None


def arrays(played):
    """A loop over arrays says what it touched: memory only beyond the caches, pages as faults."""
    caches = caches_bytes()
    for row, trials in played.rows():
        case = row["case"]
        if not case.get("kernel") or not trials:
            continue
        in_caches = caches and case["working_set"] < BEYOND * caches
        can_serve = ("cpu-cache", "cpu-cache-or-ram") if in_caches else ("ram", "cpu-cache-or-ram")
        if row["served_by"] not in can_serve and is_believed(row):
            yield Fault("served", row["id"], f"a loop over arrays, served by {row['served_by']}")
        if in_caches and (row["is_ceiling"] or row["bus"]):
            yield Fault("served", row["id"], f"arrays of {case['working_set']} B are called "
                        f"memory, beside {caches} B of caches")
        if is_believed(row) and case["kernel"] == "first-touch" and case["pages"] == "base" \
                and "PageSize" not in codes(row):
            faults = median(trial.evidence.get("minor_faults") or 0 for trial in trials)
            touched = median(trial.ops for trial in trials)
            if not 0.95 * touched <= faults <= 1.05 * touched + 100:
                yield Fault("figures", row["id"], f"{touched} pages touched first, {faults} faults")


def invocations(played):
    """An interval that holds from invocation to invocation has more than one."""
    asked = played.question
    if asked.built_in or asked.sustained:
        return
    for row, trials in played.rows():
        rate = row["throughput"]
        if not rate or not trials:
            continue
        within = rate["holds"] == "within this run"
        if within != (rate["invocations"] == 1) or rate["invocations"] > asked.invocations:
            yield Fault("figures", row["id"], f"{rate['invocations']} of {asked.invocations} "
                        f"invocations hold {rate['holds']}")


LAWS = (times, shares, rates, paced, arrays, invocations)
