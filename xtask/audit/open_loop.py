"""The figures of a case with a rate, and what its schedule says of them."""

from itertools import zip_longest

from figures import NS, latencies
from intervals import Histogram, median, whole

# The response time of an operation that never began, in the JSON and here.
UNSENT_NS = 2**64 - 1
LAST_NS = 2**62
HELD_LEAST = 0.99
BEHIND = (("doubt", 0.10), ("note", 0.05))


def unsent(one):
    return sum(span.get("unsent", 0) for span in one.spans)


def due(one):
    return one.ops + unsent(one)


def responses(one):
    """The response times of a trial; those of operations that never began are the longest."""
    told = one.trial.done.get("responses") or {"counts": [], "max_ns": 0}
    late = unsent(one)
    if not late:
        return told
    return {"counts": told["counts"] + [[LAST_NS, late]], "max_ns": LAST_NS}


def longest(one):
    """The longest response time, or latency in a closed loop; None without an operation."""
    if one.case.rate:
        return said(responses(one)["max_ns"]) if due(one) else None
    return one.trial.done["latencies"]["max_ns"] if one.trial.done["latencies"]["counts"] else None


def said(value):
    """A value of the JSON: the longest response time has a number of its own."""
    if isinstance(value, dict):
        return {name: said(part) for name, part in value.items()}
    return UNSENT_NS if value == LAST_NS and not isinstance(value, bool) else value


def of_trial(one):
    """What the JSON of a trial has beside the figures of a closed loop."""
    return {"unsent": unsent(one) if one.case.rate else None,
            "response_ns": said(latencies(Histogram([[responses(one)]])))}


def histogram(row):
    return Histogram([[responses(one) for one in unit] for unit in row.planned_units()])


def offered(one):
    ns = min(one.elapsed_ns, one.case.time)
    return due(one) * NS / ns if ns > 0 else None


def backlog(one):
    told = [span["backlog"] for span in one.spans if span.get("backlog")]
    # A thread that ended earlier has no backlog in later steps.
    return max(map(sum, zip_longest(*told, fillvalue=0))) if told else None


def spin_share(one):
    ns = one.elapsed_ns * len(one.spans)
    return sum(span.get("spin_ns", 0) for span in one.spans) / ns if ns > 0 else None


def submit_lag(one):
    lags = [span.get("lag_ns") for span in one.spans]
    if None in lags or not one.ops:
        return None
    return sum(lags) / one.ops


def achieved(row):
    every = sum(due(one) for one in row.figures)
    return (every - sum(unsent(one) for one in row.figures)) / every if every else None


def told(row):
    """The open loop of a case in JSON form; None for a closed one."""
    if not row.case.rate or not row.figures or achieved(row) is None:
        return None
    response = histogram(row)
    return {
        "offered": row.estimate(offered), "achieved": achieved(row),
        "response_ns": said(response.latency()),
        "response_ns_intervals": said(response.intervals()),
        "submit_lag_ns": median(submit_lag(one) for one in row.figures),
        "unsent": sum(unsent(one) for one in row.figures),
        "backlog": whole(median(backlog(one) for one in row.figures)),
        "spin_share": median(spin_share(one) for one in row.figures),
    }


def is_held(row):
    share = achieved(row) if row.case.rate and row.figures else None
    return share is not None and share >= HELD_LEAST


def working_cpu_ns(one):
    """The CPU time without what was spent on waiting."""
    spun = sum(span.get("spin_ns", 0) for span in one.spans)
    return None if one.cpu_ns is None else max(0, one.cpu_ns - spun)


def cpu_per_op(one):
    """That of an operation, in nanoseconds."""
    cpu = working_cpu_ns(one)
    return cpu / one.ops if cpu is not None and one.ops else None


def load_not_held(row):
    is_late = row.case.rate and row.moves and achieved(row) < HELD_LEAST
    return "doubt" if is_late else None


def generator_behind(row, rows):
    """Whether the same schedule without any I/O takes a large part of the response time."""
    if not row.case.rate or row.case.is_null or not row.figures:
        return None

    def schedule(one):
        return one.case.rate, one.case.arrival, one.case.threads

    nulls = [one for one in rows if one.case.is_null and schedule(one) == schedule(row)]
    if not nulls or not nulls[0].figures:
        return None
    if achieved(nulls[0]) < HELD_LEAST:
        return "doubt"
    own, here = histogram(nulls[0]), histogram(row)
    shares = [own.percentile(name) / here.percentile(name) for name in ("p50", "p99")
              if own.percentile(name) is not None and here.percentile(name)]
    return next((severity for severity, least in BEHIND if shares and max(shares) > least), None)
