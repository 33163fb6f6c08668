"""Whether the goals of a run are met, from the intervals of its figures."""

import re

import open_loop
from intervals import ABOVE_MIN, ABOVE_SOLID, PARTS, Histogram
from loads import is_rare
from record import SIZES, TIMES, quantity

# Units, invocations or rounds, from which a percentile is held against a limit.
UNITS = 5
NO_CALLS = ("none", "dsync")
# Doubts that can only make a figure look better than it is, or that say that it varies.
FLATTER = {"AcknowledgedOnly", "CacheLeak", "CacheUnseen", "Compressed", "CountersUnseen",
           "HostCache", "PartlyCached", "Throttled", "TooFew", "Unverified", "WideInterval"}


class Must:
    """What a figure must be: `sync p99<10ms`, `iops>20000/s`."""

    def __init__(self, text):
        self.what, sign, value = re.fullmatch(r"([^<>]+)([<>])(.+)", text).groups()
        self.is_rate = sign == ">"
        value = value.removesuffix("/s")
        tail = re.fullmatch(r"(sync )?p([\d.]+)", self.what)
        self.is_sync = bool(tail and tail[1])
        # How many of 10 000 operations may take longer.
        self.tail = tail and PARTS - round(float(tail[2]) * PARTS / 100)
        units = {"throughput": SIZES, "iops": {"": 1}}.get(self.what, TIMES)
        self.limit = quantity(value, units)

    def fits(self, case):
        if self.what == "gap":
            return not case.is_memory
        if self.tail:
            syncs = case.is_write and case.every and case.sync not in NO_CALLS
            return bool(syncs) if self.is_sync else not case.is_memory
        if self.what == "throughput":
            return not case.call and case.op != "sync"
        return self.what != "time"


def fit(record, rows):
    """The outcome of the goals of a plan; None if it has none."""
    goals = [met(goal, record, rows) for goal in record.plan.get("fit") or []]
    return {"fit": worst([goal["fit"] for goal in goals]), "goals": goals} if goals else None


def worst(words):
    return next((word for word in ("no", "undecided") if word in words), "yes")


def met(goal, record, rows):
    must = Must(goal["must"])

    def is_about(case):
        return must.fits(case) and all(has(case, *axis) for axis in goal.get("of", {}).items())

    cases = [of_case(must, row) for row in rows if row.role == "asked" and is_about(row.case)]
    words = [case["fit"] for case in cases]
    skips = [type(rows[0].case)(skip["case"]) for skip in record.plan.get("skips", [])] if rows else []
    if not cases or any(is_about(case) for case in skips):
        words.append("undecided")
    return {**goal, "fit": worst(words), "cases": cases}


def has(case, axis, text):
    """Whether the axis of a case has the value that a goal names."""
    value = case.axes.get("sizes" if axis == "block" and len(case.sizes) > 1 else axis)
    if isinstance(value, (int, float)):
        return quantity(text.replace("k", "KiB") if text.endswith("k") else text, SIZES) == value
    return value == text


def of_case(must, row):
    value, low, high, is_enough, is_exceeded = figure(must, row)
    word, why = decide(must, row, (value, low, high), is_enough, is_exceeded)
    histogram = must.tail and histogram_of(must, row)
    return {"id": row.id, "fit": word, "value": value, "low": low, "high": high, "why": why,
            "operations": (histogram.count if histogram else 0) if must.tail else None,
            "operations_needed": -(-ABOVE_SOLID * PARTS // must.tail) if must.tail else None}


def figure(must, row):
    """The value, its interval, whether that decides, and whether surely too many take longer."""
    if must.tail:
        histogram = histogram_of(must, row)
        if histogram is None:
            return None, None, None, False, False
        return percentile(histogram, must)
    if must.what == "gap":
        return gap(must, row)
    told = {"throughput": row.throughput, "iops": row.iops}.get(must.what)
    if must.what == "cpu":
        told = row.estimate(open_loop.cpu_per_op)
    if told is None:
        return None, None, None, True, False
    return told["median"], told["low"], told["high"], True, False


def gap(must, row):
    """The longest latency or response that was seen, and the end of the interval of the trials'."""
    seen = max(row.values(open_loop.longest), default=None)
    told = row.estimate(open_loop.longest)
    if seen is None:
        return None, None, None, False, False
    high = told["high"] if told else None
    ends = (None, None) if high is None else (float(seen), max(float(seen), high))
    return float(seen), *ends, high is not None, seen >= must.limit


def histogram_of(must, row):
    if not row.counted:
        return None
    if must.is_sync:
        return row.syncs
    return open_loop.histogram(row) if row.case.rate else row.histogram


def percentile(histogram: Histogram, must):
    above = histogram.count * must.tail // PARTS
    value = low = high = None
    if above >= ABOVE_MIN:
        value = histogram.value(histogram.count - above)
        index = histogram.index(histogram.count - above)
        low, high = histogram.ends(index, must.tail / PARTS)
    is_enough = above >= ABOVE_SOLID and len(histogram.units) >= UNITS
    # A larger share of operations, of which enough are expected.
    share = max(must.tail, -(-ABOVE_SOLID * PARTS // max(histogram.count, 1)))
    is_exceeded = share < PARTS and is_rare(histogram, must.limit + 1, share, ABOVE_SOLID) == "no"
    told = [one if one is None else float(open_loop.said(one)) for one in (value, low, high)]
    return *told, is_enough, is_exceeded


def decide(must, row, told, is_enough, is_exceeded):
    value, low, high = told
    if row.findings.get("NotDurable") == "void":
        return "no", "not durable"
    if row.verdict == "void":
        return "undecided", "void"
    if not row.stands:
        return "undecided", "no figure"
    is_decided = is_enough and low is not None
    if is_decided:
        is_met = low > must.limit if must.is_rate else high < must.limit
        is_missed = high <= must.limit if must.is_rate else low >= must.limit
    elif is_exceeded:
        is_met, is_missed = False, True
    else:
        return "undecided", "no figure" if value is None else "too few"
    doubts = {code for code, severity in row.findings.items() if severity == "doubt"}
    # A stall is what a gap is about.
    doubts -= {"Stalled"} if must.what == "gap" else set()
    if is_missed and doubts <= FLATTER:
        return "no", None if is_enough else "exceeded"
    if doubts:
        return "undecided", "doubtful"
    return ("yes", None) if is_met else ("undecided", "too close")
