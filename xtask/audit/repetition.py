"""The repetition within a run."""

import math

from intervals import median

# Fewer rounds or invocations do not show whether they depend on each other.
UNITS_LEAST = 10
ADVISED_MOST = 20


def repetition(record, rows):
    """The repetition in JSON form."""
    asked = [row for row in rows if row.role == "asked" and row.stands]
    invocation_s, round_s = costs(record)
    units = [len(row.units()) for row in asked]
    best = []
    if round_s is not None:
        best = [best_rounds(row.throughput or row.iops, invocation_s / round_s) for row in asked]
    betweens = [one["between"] for one in (row.throughput or row.iops for row in asked)
                if one is not None and one.get("between") is not None]
    # If the typical case has no extra variance between invocations, there is nothing to optimize.
    advised = median(best) if betweens and median(betweens) > 0 else None
    measured = {trial.invocation for trial in record.trials}
    rounds = {trial.round for trial in record.trials}
    is_campaign = bool(record.plan.get("budget"))
    planned = 1 if is_campaign else record.plan.get("invocations", 1)
    planned_rounds = 0 if is_campaign else record.plan["rounds"]
    return {"invocations": max(planned, len(measured)),
            "rounds": max(planned_rounds, len(rounds)),
            "has_new_files": any(one["fixtures"] for one in record.invocations),
            "is_dependence_checked": bool(units) and min(units) >= UNITS_LEAST,
            "invocation_s": invocation_s, "round_s": round_s,
            "advised_rounds": None if advised is None else math.ceil(advised)}


def best_rounds(estimate, cost):
    """The most informative number of rounds per invocation, where an invocation costs as much as
    `cost` rounds; None if unknown."""
    # Rounds explain all variance between invocations, so there is nothing to optimize.
    if estimate is None or estimate["within"] is None or not estimate["between"]:
        return None
    between, within = estimate["between"], estimate["within"]
    return min(max(1, math.ceil(math.sqrt(cost) * within / between)), ADVISED_MOST)


def costs(record):
    """The median time in seconds of an invocation without its rounds, and of a round; the first
    invocation only counts for its rounds, and none that was interrupted, resumed or has further
    rounds does. None if the record lacks them."""
    rounds, further = {}, {trial.invocation for trial in record.trials if trial.is_further}
    for trial in record.trials:
        rounds.setdefault(trial.invocation, set()).add(trial.round)
    before, each = {"number": 0, "at_ms": 0}, []
    for one in record.invocations:
        length = one["at_ms"] - one["made_ms"] - before["at_ms"]
        is_whole = not one.get("resumed") and not before.get("resumed")
        is_whole = is_whole and before["number"] not in further
        if is_whole and length > 0 and rounds.get(before["number"]):
            each.append(length / 1e3 / len(rounds[before["number"]]))
        before = one
    if not each:
        return None, None
    return median(one["made_ms"] / 1e3 for one in record.invocations), median(each)
