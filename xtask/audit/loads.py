"""How much load storage holds, how many operations in flight it needs, and what other work on it,
or on memory, does to a case."""

import re

import numpy as np
from scipy import stats

import open_loop
from comparisons import ratio_of
from decisions import is_faster, shown
from intervals import LEVEL, Histogram, estimate
from record import TIMES, quantity
from rows import fastest, grouped

PARTS = 10_000
# Units that decide a share, and how many operations that share must stand for.
UNITS = 5
LATER = 100
NEVER = 10
# The share of operations that may not have begun when the time is up.
UNSENT = 100
# The fastest depth is faster by this if it is needed.
DEPTH_INTEREST = 1 / 0.9 - 1


def asked(rows):
    return [row for row in rows if row.role == "asked"]


# Loads.


def loads(rows, plan):
    """For cases that differ in their rate only: which rates the storage keeps up with and holds."""
    def alike(row):
        return row.case.key("rate", "arrival", "time")

    def key(row):
        return (alike(row), row.case.arrival) if row.case.rate else None

    goals, told = plan.get("goals") or [], []
    for group in grouped(asked(rows), key):
        closed = next((row for row in asked(rows) if not row.case.is_memory
                       and not row.case.rate and alike(row) == alike(group[0])), None)
        if len(group) >= 2 or goals:
            told.append(load(sorted(group, key=lambda row: row.case.rate), closed, goals,
                             plan.get("at_least")))
    return told


def load(group, closed, goals, least):
    closed = closed if closed and closed.stands else None
    rates = [rate(row, closed, goals) for row in group if row.stands]
    met = next((one["meets"] for one in rates if one["rate"] == least), None)
    return {
        "closed": closed and closed.id, "closed_iops": closed and closed.iops, "rates": rates,
        "kept_up": bounds([(one["rate"], one["keeps_up"]) for one in rates]),
        "held": bounds([(one["rate"], one["meets"]) for one in rates]) if goals else None,
        "goals": goals,
        "at_least": None if least is None else {"rate": least, "met": met or "undecided"},
    }


def rate(row, closed, goals):
    """What is decided about one rate."""
    responses = open_loop.histogram(row)
    keeps_up = is_rare(responses, open_loop.LAST_NS, UNSENT, NEVER)
    words = [is_rare(responses, *parsed(goal), LATER) for goal in goals] + [keeps_up]
    meets = next((word for word in ("no", "undecided") if word in words), "yes")
    return {"case": row.id, "rate": row.case.rate, "keeps_up": keeps_up,
            "of_closed": row.case.rate / closed.iops["median"] if closed and closed.iops else None,
            "meets": meets if goals else None}


def parsed(goal):
    """The time of a goal, and how many of 10 000 operations may take as long."""
    percentile, time = re.fullmatch(r"p([\d.]+)<(.+)", goal).groups()
    return quantity(time, TIMES), PARTS - round(float(percentile) * PARTS / 100)


def is_rare(histogram, ns, tail, least):
    """Whether fewer than `tail` of 10 000 operations take `ns` or longer, by the differences between
    rounds, or between invocations."""
    k, share = len(histogram.units), tail / PARTS
    if k < UNITS or histogram.count * tail < least * PARTS:
        return "undecided"
    surplus = [float(unit.longer(ns - 1)) - share * unit.count for unit in histogram.units]
    mean = sum(surplus) / k
    variance = max(sum((one - mean) ** 2 for one in surplus) * k / (k - 1),
                   histogram.count * share * (1 - share))
    t = stats.t.ppf((1 + LEVEL) / 2, k - 1)
    score = sum(surplus) / variance**0.5
    return "yes" if score <= -t else "no" if score >= t else "undecided"


def bounds(words):
    """Between which of the ascending rates something ceases to hold."""
    fails = next((rate for rate, word in words if word == "no"), None)
    below = [(rate, word) for rate, word in words if fails is None or rate < fails]
    holds = max((rate for rate, word in below if word == "yes"), default=None)
    return {"holds": holds, "fails": fails,
            "undecided": [rate for rate, word in below
                          if word == "undecided" and (holds is None or rate > holds)],
            "holds_above": [rate for rate, word in words
                            if word == "yes" and fails is not None and rate >= fails]}


# Depths.


def depths(rows):
    """For closed loops that differ in their depth only: which depth is enough."""
    def key(row):
        return None if row.case.is_memory or row.case.rate else row.case.key("depth", "time")

    told = []
    for group in grouped([row for row in asked(rows) if row.stands], key):
        by_depth = {}
        for row in group:
            by_depth.setdefault(row.case.depth, row)
        if len(by_depth) >= 3:
            told.append(of_depths([by_depth[depth] for depth in sorted(by_depth)]))
    return told


def of_depths(group):
    best = fastest(group)
    words = {row.case.depth: (is_faster(best, row, interest=DEPTH_INTEREST) or ("undecided",))[0]
             for row in group if row is not best}
    enough = next((depth for depth, word in words.items() if word == "no"), None)
    if enough is None or enough > best.case.depth:
        enough = best.case.depth if all(word == "yes" for word in words.values()) else None
    return {"depths": [of_depth(row) for row in group], "enough": enough,
            "fastest": best.case.depth}


def of_depth(row):
    service = row.histogram
    return {"case": row.id, "depth": row.case.depth, "iops": row.iops["median"],
            "p50_ns": service.percentile("p50"), "p99_ns": service.percentile("p99"),
            "p99_interval": service.interval("p99")}


# Interference.


def interferences(rows):
    """For cases that differ only in what runs beside them: how much longer they take than alone."""
    told = []
    every = [row for row in asked(rows) if row.stands and row.moves and not row.memory]
    for group in grouped(every, lambda row: row.case.key("beside")):
        alone = next((row for row in group if is_alone(row)), None)
        others = [row for row in group if not is_alone(row)]
        if alone and others:
            timed = timed_of(alone)
            told.append({"timed": timed, "alone": side(alone, timed),
                         "beside": [disturbed(row, alone, timed) for row in others]})
    return told


def is_alone(row):
    return row.case.beside in (None, "none")


def timed_of(row):
    if row.case.rate:
        return "response"
    return "sync" if row.write and row.syncs.count else "service"


TIMED = {"response": open_loop.histogram, "sync": lambda row: row.syncs,
         "service": lambda row: row.histogram}
OF_TRIAL = {"response": open_loop.responses,
            "sync": lambda one: one.trial.done.get("syncs") or {"counts": [], "max_ns": 0},
            "service": lambda one: one.trial.done["latencies"]}


def side(row, timed):
    times = TIMED[timed](row)
    return {"case": row.id, "iops": row.iops["median"],
            "p50_ns": open_loop.said(times.percentile("p50")),
            "p99_ns": open_loop.said(times.percentile("p99"))}


def disturbed(row, alone, timed):
    speeds = [by_p99(one, timed) for one in (alone, row)]
    p99 = is_faster(alone, row, *speeds) if None not in speeds else None
    rate = is_faster(alone, row) if timed != "response" else None
    return {**side(row, timed), "p99": p99 and shown(p99[1]), "rate": rate and shown(rate[1]),
            "actors": actors(row)}


# The whole steps of an actor's progress, in nanoseconds.
STEP_NS = 100_000_000


def actors(row):
    """What ran beside a row: while its trials ran, where all trials tell it; otherwise in its whole
    run."""
    return [actor(row, beside["name"]) for beside in row.figures[0].trial.beside]


def actor(row, name):
    is_whole = any(bytes_a_second(one, spans_of(one.trial, name)) is None for one in row.figures)
    figures = {"name": name, "of_whole_run": is_whole}
    for figure, unit in (("throughput", "bytes"), ("iops", "ops")):
        def rate(one, unit=unit):
            spans = spans_of(one.trial, name)
            amount, moved = total(spans, unit), total(spans, "bytes")
            start = min((span["start_ns"] for span in spans), default=0)
            lasted = max((span["end_ns"] for span in spans), default=0) - start
            if not is_whole:
                return bytes_a_second(one, spans) * amount / moved
            return amount / lasted * 1e9 if amount > 0 and lasted > 0 else None
        told = row.estimate(rate)
        figures[figure] = told and told["median"]
    return figures


def spans_of(trial, name):
    beside = next((one for one in trial.beside if one["name"] == name), None)
    outcome = beside["outcome"] if beside else None
    return outcome["done"]["spans"] if isinstance(outcome, dict) and "done" in outcome else []


def total(spans, unit):
    return sum(span[unit] for span in spans)


def bytes_a_second(one, spans):
    """What an actor moved in the steps that lie within the trial; None if some thread has none."""
    begins = min(span["start_ns"] for span in one.trial.spans)
    ends, rate = begins + one.timed_ns, 0.0
    for span in spans:
        steps = [moved for number, moved in enumerate((span.get("progress") or [])[:-1])
                 if begins <= span["start_ns"] + number * STEP_NS
                 and span["start_ns"] + (number + 1) * STEP_NS <= ends]
        if not steps:
            return None
        rate += sum(steps) / (len(steps) * STEP_NS) * 1e9
    return rate if total(spans, "bytes") > 0 else None


def by_p99(row, timed):
    """The reciprocal of the p99 of each round; None unless all have one."""
    def speed(one):
        ns = Histogram([[OF_TRIAL[timed](one)]]).percentile("p99")
        return None if not ns or ns == open_loop.LAST_NS else 1 / ns

    speeds = row.by_round(speed)
    return speeds if len(speeds) == len(row.figures) else None


# Memory beside loads of its bandwidth.

# The last point on the lower line, counted from the chase alone, and the points beyond it.
BELOW_LEAST = 2
BEYOND_LEAST = 2
KNEE_INTEREST = 0.05


def loaded_latencies(rows):
    """For chases alone and beside loops that move bytes: the latency by the bandwidth."""
    chases = [row for row in asked(rows)
              if row.stands and row.memory and row.case.kernel == "chase"]

    def key(row):
        loads = loads_beside(row)
        return (row.case.key("beside"), tuple(one.key() for one in loads)) if loads else None

    told = []
    for group in grouped(chases, key):
        alone = next((row for row in chases if is_alone(row)
                      and row.case.key("beside") == group[0].case.key("beside")), None)
        if alone:
            told.append(loaded_latency(alone, group, rows))
    return [one for one in told if one]


def loads_beside(row):
    """What the loading threads run, whatever their duty; None if the chase is alone."""
    if is_alone(row):
        return None
    loads = [row.record.actors.get(name) for name in row.case.beside.split("+")]
    return loads if all(one and one.is_memory for one in loads) else None


def beside_each(row):
    """Bytes a second of all that ran beside a row, by round."""
    def of(one):
        rates = [bytes_a_second(one, spans_of(one.trial, beside["name"]))
                 for beside in one.trial.beside]
        return None if not rates or None in rates else sum(rates)

    return row.by_round(of)


def loaded_latency(alone, group, rows):
    loads = loads_beside(group[0])
    points = [(row, beside_each(row)) for row in group]
    points = [(row, moved, estimate(moved.items(), row.level)) for row, moved in points if moved]
    points.sort(key=lambda one: one[2]["median"])
    if not points:
        return None
    top, moved, _ = points[-1]
    same = next((row for row in rows if row.stands and row.case.key("time") == loads[0].key("time")),
                None)
    share = ratio_of(moved, same.rates()) if same and len(loads) == 1 else None
    trials = [one.trial for row, *_ in points for one in row.figures]
    own = cpus(span for trial in trials for span in trial.spans)
    theirs = cpus(span for trial in trials for one in trial.beside
                  for span in spans_of(trial, one["name"]))
    return {
        "kernel": loads[0].kernel, "threads": sum(one.threads for one in loads),
        "chase_cpu": own[0] if len(own) == 1 else None, "load_cpus": theirs,
        "unloaded": {"case": alone.id, "latency_ns": alone.ns_per_op},
        "of_alone": share and shown(share), "knee": latency_knee(alone, points),
        "loads": [{"case": row.id, "bandwidth": rate, "latency_ns": row.ns_per_op,
                   "longer": longer(alone, row)} for row, _, rate in points],
    }


def cpus(spans):
    """The CPUs of all spans, at either end; none if one does not tell."""
    seats = [span.get(name) for span in spans for name in ("start_seat", "end_seat")]
    return [] if None in seats else sorted({seat["cpu"] for seat in seats})


def longer(alone, row):
    found = is_faster(alone, row)
    return found and shown(found[1])


def latency_knee(alone, points):
    """Where the latency begins to grow faster than the line of the loads up to there; None unless
    the rounds agree that it does."""
    curve = [(0.0, alone.ns_per_op["median"])]
    curve += [(rate["median"], row.ns_per_op["median"]) for row, _, rate in points]
    misfits = [(misfit(curve[:at + 1]) + misfit(curve[at:]), at)
               for at in range(BELOW_LEAST, len(curve) - BEYOND_LEAST)]
    if not misfits:
        return None
    _, at = min(misfits)
    (top, most, _), (last, _, rate) = points[-1], points[at - 1]

    def ns_of(row):
        return row.by_round(lambda one: one.ns_per_op)

    unloaded, actual = ns_of(alone), ns_of(top)
    below = [(moved, ns_of(row)) for row, moved, _ in points[:at]]
    foretold = {}
    for place in actual:
        if place not in unloaded or any(place not in each for pair in below for each in pair):
            continue
        line = [(0.0, unloaded[place])] + [(moved[place], ns[place]) for moved, ns in below]
        ns = float(np.polyval(np.polyfit(*zip(*line), 1), most[place]))
        if ns > 0:
            foretold[place] = 1 / ns
    found = is_faster(last, top, foretold, {place: 1 / ns for place, ns in actual.items()},
                      KNEE_INTEREST)
    if not found or found[0] != "yes":
        return None
    return {"bandwidth": rate["median"], "case": last.id, "beyond_line": shown(found[1])}


def misfit(points):
    """The squares by which the line of least squares misses the points."""
    x, y = zip(*points)
    return float(np.sum((np.polyval(np.polyfit(x, y, 1), x) - np.array(y)) ** 2))
