"""The figures of each kind of operation of a case that reads and writes."""

from figures import a_second, latencies
from intervals import Histogram

NOTHING = {"counts": [], "max_ns": 0}


def reads(one):
    return one.trial.done.get("reads") or NOTHING


def writes(one):
    """All latencies without those of the reads."""
    if not one.case.read_share:
        return NOTHING
    part, every = dict(map(tuple, reads(one)["counts"])), one.trial.done["latencies"]
    rest = [[ns, count - part.get(ns, 0)] for ns, count in every["counts"]]
    rest = [[ns, count] for ns, count in rest if count > 0]
    is_longest = every["max_ns"] > reads(one)["max_ns"]
    known = rest[-1][0] if rest else 0
    return {"counts": rest, "max_ns": every["max_ns"] if is_longest else known}


def of_trial(one):
    return {"read_ops": one.read_ops if one.case.read_share else None,
            "read_ns": without_longest(reads(one)), "write_ns": without_longest(writes(one))}


def without_longest(told):
    """The JSON of a trial has the percentiles only."""
    return {name: ns for name, ns in latencies(Histogram([[told]])).items() if name != "max"}


def told(row):
    """The figures in JSON form; None unless the case is mixed."""
    if not row.case.read_share or not row.counted:
        return None

    def part(of):
        return Histogram([[of(one) for one in unit] for unit in row.planned_units()])

    every = {"read": (lambda one: one.read_ops, part(reads)),
             "write": (lambda one: one.written_ops, part(writes))}
    figures = {}
    for name, (ops, times) in every.items():
        figures |= {
            f"{name}_iops": row.end_estimate(lambda one, ops=ops: a_second(ops(one), one.timed_ns)),
            f"{name}_ns": times.latency(), f"{name}_ns_intervals": times.intervals()}
    return figures
