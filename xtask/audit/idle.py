"""Whether CPUs that fall asleep while operations are in flight make a slow rate look slower."""

import open_loop
from decisions import LEVEL, median_test
from intervals import median

# The share of the difference that waking up from a state takes, if it can explain it.
WAKE_LEAST = 0.5
# The entries of an operation that move a median.
ENTRIES_LEAST = 0.5
# How many of them there may be at the higher rate.
FEWER_MOST = 0.5


def deep_idle(row, rows):
    """A note if a higher rate of the same load answers certainly sooner, and the CPUs of this row
    enter deep states in flight so often that their waking up explains it."""
    own, null = response(row), generator(row, rows)
    if not own or not null:
        return None
    for other in sorted(rows, key=lambda one: one.case.rate or 0):
        theirs = is_higher_rate(other, row) and response(other)
        if not theirs or theirs[2] >= own[1]:
            continue
        deep_us = (own[0] - theirs[0]) / 1e3 * WAKE_LEAST
        others = generator(other, rows)
        here, there = in_flight(row, null, deep_us), others and in_flight(other, others, deep_us)
        if here and there and here[1] and max(there[0], 0) <= here[0] * FEWER_MOST:
            return "note"
    return None


def response(row):
    """The median response time of a sound row on a bare machine and the ends of its interval; None
    if it is not that, or has no interval."""
    case = row.case
    is_alone = case.beside in (None, "none")
    if not case.rate or case.is_null or not is_alone or row.host.get("hypervisor"):
        return None
    if row.verdict != "sound" or open_loop.achieved(row) is None:
        return None
    times = open_loop.histogram(row)
    ends = times.interval("p50")
    if not ends or None in (ends["low"], ends["high"]):
        return None
    return times.percentile("p50"), ends["low"], ends["high"]


def is_higher_rate(other, row):
    """Whether a row is of the same load at a higher rate."""
    keys = [one.case.key("rate", "time") for one in (other, row)]
    return bool(other.case.rate) and other.case.rate > row.case.rate and keys[0] == keys[1]


def generator(row, rows):
    """The first row of the null engine on the schedule of a row."""
    def schedule(one):
        return one.case.rate, one.case.arrival, one.case.threads
    return next((one for one in rows if one.case.is_null and one.case.rate
                 and schedule(one) == schedule(row)), None)


def in_flight(row, null, deep_us):
    """The entries of an operation into states that take so long to wake up from, beyond those on
    the same schedule without any I/O, and whether they are often enough beyond chance. None if
    either does not tell."""
    own, idle = entries(row, deep_us), entries(null, deep_us)
    if not own or not idle:
        return None
    surplus = median(own) - median(idle)
    chance = median_test([each - ENTRIES_LEAST for each in own], idle)
    return surplus, surplus >= ENTRIES_LEAST and chance <= LEVEL


def entries(row, deep_us):
    """The entries into deep states of each trial for an operation, of those trials that tell."""
    def of(one):
        states = one.trial["idle_states"]
        if not states or not one.ops:
            return None
        deep = [state["entries"] for state in states
                if state["wake_us"] is not None and state["wake_us"] >= deep_us]
        return sum(deep) / one.ops
    return row.values(of)
