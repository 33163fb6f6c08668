"""Whether two rows differ, by their paired rounds."""

import math

import numpy as np

import courses
from intervals import MEDIAN_BY_MEAN, TwoLevels, exchangeable, interval
from rows import fastest, grouped

POWER = 7.85
PAIRS_LEAST = 6
DEVICE_INTEREST = 0.05
MEMORY_INTEREST = 0.02


def logs_of(rates, base):
    """The position and the logarithm of each paired ratio."""
    return [(place, math.log(rate / base[place])) for place, rate in rates.items()
            if place in base]


def ratio_of(rates, base):
    """The median of the paired ratios; for an even number, the geometric mean of the middle two."""
    logs = logs_of(rates, base)
    if not logs:
        return None
    two = TwoLevels.of(logs)
    if two:
        return {**two.told, "pairs": len(logs)}
    logs = [log for _, log in logs]
    low, high = interval(logs)
    return {"median": math.exp(float(np.median(logs))), "pairs": len(logs), "invocations": 1,
            "low": low if low is None else math.exp(low),
            "high": high if high is None else math.exp(high)}


def ratio_of_any(rates, base):
    """The same; without common rounds, the ratio of the medians."""
    found = ratio_of(rates, base)
    if found or not rates or not base:
        return found
    ours, others = (np.median(exchangeable(side.items())) for side in (rates, base))
    return {"median": float(ours / others), "low": None, "high": None, "pairs": 0,
            "invocations": 1}


def effect(ratio):
    return max(ratio, 1 / ratio) - 1


def difference(found, interest):
    low, high = found["low"], found["high"]
    if low is None or high is None:
        return "inconclusive"
    if (low > 1 or high < 1) and effect(found["median"]) >= interest:
        return "different"
    if effect(low) <= interest and effect(high) <= interest:
        return "equivalent"
    return "inconclusive"


def paired(rates, base):
    """`ratio_of_any`, without an interval if the pairs depend on each other: it would be too narrow.
    `maybe` if random orders may decide either way."""
    found = ratio_of_any(rates, base)
    if not found:
        return None
    by_chance = Chance()
    ratios = [math.exp(log) for log in exchangeable(logs_of(rates, base))]
    depend = courses.drift(ratios, by_chance) is not None
    if depend:
        found = {**found, "low": None, "high": None}
    return {**found, "maybe": bool(by_chance.maybe), "depend": depend}


class Chance:
    """What random orders may decide either way."""

    def __init__(self):
        self.maybe = set()


def needs(logs, interest):
    """Roughly how many pairs (or invocations, if there are several) detect the smallest effect of
    interest with 80 % power."""
    two = TwoLevels.of(logs)
    if two:
        variance = two.variance * MEDIAN_BY_MEAN**2
        return max(math.ceil(POWER * variance / math.log1p(interest) ** 2), two.k + 1)
    logs = [log for _, log in logs]
    variance = float(np.var(logs, ddof=1)) if len(logs) > 1 else 0.0
    by_power = math.ceil(POWER * variance / math.log1p(interest) ** 2)
    return max(by_power, PAIRS_LEAST, len(logs) + 1)


def compare(row, base):
    """The comparison in JSON form; None without common rounds."""
    found = paired(row.rates(), base.rates())
    if not found or not found["pairs"]:
        return None
    interest = DEVICE_INTEREST if base.served_by == "device" else MEMORY_INTEREST
    word = difference(found, interest)
    logs = logs_of(row.rates(), base.rates())
    return {"case": row.id, "base": base.id, "pairs": found["pairs"],
            "invocations": found["invocations"], "ratio": found["median"],
            "low": found["low"], "high": found["high"], "difference": word,
            "interest": interest, "maybe": found["maybe"],
            "needs": needs(logs, interest)
            if word == "inconclusive" and not found["depend"] else None}


def compare_with(rows, base):
    alike = [row for row in rows if row is not base and row.served_by == base.served_by]
    told = [judged(compare(row, base), row, base) for row in alike]
    return [found for found in told if found]


def judged(found, row, base):
    """A doubtful figure leaves open what an interval says, but pairs of rounds compare figures that
    are doubtful only because they vary from round to round."""
    if found is None or (compares(row, found) and compares(base, found)):
        return found
    return {**found, "difference": "in doubt", "needs": None}


def compares(row, found):
    return row.verdict == "sound" or (found["pairs"] > 0 and row.pairs)


def adopt(found, said):
    """ioassay's interval, where random orders may decide either way whether there is one."""
    same = [one for one in said if (one["case"], one["base"]) == (found["case"], found["base"])]
    alike = ("low", "high", "difference", "needs") if found.pop("maybe") and same else ()
    return {**found, **{name: same[0][name] for name in alike}}


def usual(row):
    """The equivalent work done by pread or pwrite."""
    if row.file or row.write:
        axes = dict(row.case.axes, engine="pread" if row.file else "pwrite")
        axes.pop("peer")
        return tuple(sorted(axes.items()))
    return None


def axes_of(row):
    return row.case.key("peer")


def comparisons(rows):
    # Those on a schedule have its rate.
    asked = [row for row in rows if row.stands and row.role == "asked" and not row.case.rate]
    return of_engines(asked) + of_peers(asked) + of_advice(asked) + of_submission(asked) \
        + of_populated(asked) + of_pages(asked) + of_loops(asked)


def of_engines(asked):
    own = {usual(row) for row in asked if row.is_own}

    def key(row):
        work = usual(row)
        # Peer engines are only compared with each other if this program has no equivalent.
        return work and (row.is_own or work not in own) and (work, row.case.peer) or None

    told = []
    for group in grouped(asked, key):
        base = next((row for row in group if usual(row) == axes_of(row)), group[0])
        told += compare_with(group, base)
    return told


def of_peers(asked):
    told = []
    for group in grouped(asked, lambda row: usual(row) and axes_of(row)):
        base = next((row for row in group if row.is_own), group[0])
        told += compare_with(group, base)
    return told


def of_advice(asked):
    told = []
    for group in grouped(asked, lambda row: row.case.key("advice") if row.file else None):
        base = next((row for row in group if row.case.advice == "none"), None)
        told += compare_with(group, base) if base else []
    return told


def of_submission(asked):
    told = []
    for group in grouped(asked, lambda row: row.case.key("submission") if row.file else None):
        base = next((row for row in group if row.case.submission == "plain"), None)
        told += compare_with(group, base) if base else []
    return told


def of_populated(asked):
    told = []

    def key(row):
        return row.case.key("populated") if row.case.populated else None

    for group in grouped(asked, key):
        base = next((row for row in group if row.case.populated == "readahead"), None)
        told += compare_with(group, base) if base else []
    return told


def of_pages(asked):
    told = []

    def key(row):
        return row.case.key("pages") if row.file or row.write else None

    for group in grouped(asked, key):
        base = next((row for row in group if row.case.pages == "base"), None)
        told += compare_with(group, base) if base else []
    return told


def of_loops(asked):
    def key(row):
        case = row.memory
        return case and (case.kernel, case.working_set, case.pages, case.threads)

    told = []
    for group in grouped(asked, key):
        others = [row for row in group if not row.is_own]
        base = fastest(row for row in group if row.is_own) or (others[0] if others else None)
        told += compare_with(others, base) if base else []
    return told


def control(rows, twins, planned, said):
    """The result of rows measured twice; None without any. Adds findings to both rows of a pair
    that differs."""
    if not planned:
        return None
    told = []
    for twin in twins:
        row = next((row for row in rows if row.case.axes == twin.case.axes), None)
        if row is None or not (row.stands and twin.stands):
            continue
        found = compare(twin, row)
        if not found:
            continue
        found = adopt(found, said["comparisons"])
        if found["difference"] == "different":
            row.find("ControlDiffers", "doubt")
            twin.find("ControlDiffers", "doubt")
        told.append(found)
    is_whole = len(told) == planned
    words = [found["difference"] for found in told]
    outcome = "wide"
    if "different" in words:
        outcome = "differs"
    elif is_whole and all(word == "equivalent" for word in words):
        outcome = "agrees"
    ends = [end for found in told for end in (found["low"], found["high"])]
    decides = None if not is_whole or None in ends or not ends else max(map(effect, ends))
    return {"outcome": outcome, "decides": decides, "comparisons": told}
