"""Whether rounds fall into two levels that correlate with the threads' CPUs or nodes."""

import math
from collections import Counter

from decisions import LEVEL, median_test
from intervals import median
from path import nodes_of_disks

NOTE = 0.05
DOUBT = 0.20
LEVEL_LEAST = 3
CHANCE_MOST = 0.01
REMOTE_LEAST = 0.10
ARRAYS_LEAST = 16 << 20


def cpu_levels(row):
    """The severity of levels by node or, for one thread, by CPU."""
    apart = levels(row, "node")
    if apart is None and row.case.threads == 1:
        apart = levels(row, "cpu")
    if apart is None or apart <= NOTE:
        return None
    return "doubt" if apart > DOUBT else "note"


def place(figures, name):
    """All places where the threads of a trial started and ended; None if one does not report."""
    seats = [span.get(end) for span in figures.spans for end in ("start_seat", "end_seat")]
    return None if None in seats else frozenset(seat[name] for seat in seats)


def levels(row, name):
    """The ratio of two levels that correlate with `name`; None if there are none."""
    if any(place(one, name) is None for one in row.figures):
        return None
    rounds = sorted(((median(one.main for one in unit),
                      frozenset().union(*(place(one, name) for one in unit)))
                     for unit in row.by_unit()), key=lambda one: one[0])
    cuts = range(LEVEL_LEAST, len(rounds) - LEVEL_LEAST + 1)
    if not cuts:
        return None
    # Among equally wide gaps, the highest one counts.
    cut = max(cuts, key=lambda at: (rounds[at][0] / rounds[at - 1][0], at))
    slow, fast = rounds[:cut], rounds[cut:]
    if frozenset().union(*(there for _, there in slow)) & frozenset().union(
            *(there for _, there in fast)):
        return None
    if chance(Counter(there for _, there in rounds).values(), len(fast)) > CHANCE_MOST:
        return None
    return median(rate for rate, _ in fast) / median(rate for rate, _ in slow) - 1


def chance(sizes, count):
    """The share of all choices of `count` rounds that consist of whole places. `sizes` lists the
    rounds of each place."""
    ways = Counter({0: 1})
    for size in sizes:
        ways += Counter({chosen + size: number for chosen, number in ways.items()})
    return ways[count] / math.comb(sum(sizes), count)


def remote_pages(row):
    """The severity of one thread's pages on remote nodes."""
    size = row.case.working_set if row.memory else None
    if row.file and row.case.engine == "load":
        size = row.case.size
    if size is None or size < ARRAYS_LEAST or row.case.threads > 1:
        return None
    shares = [remote_share(one) for one in row.figures]
    if not shares or None in shares or max(shares) < REMOTE_LEAST:
        return None
    trials = sorted(zip(shares, (one.main for one in row.figures)), key=lambda one: one[0])
    cuts = range(1, len(trials))
    gaps = {at: trials[at][0] - trials[at - 1][0] for at in cuts}
    # Among equally wide gaps, the last one counts.
    cut = max(cuts, key=lambda at: (gaps[at], at), default=None)
    if cut is None or gaps[cut] < REMOTE_LEAST:
        return "note"
    near, far = ([rate for _, rate in part] for part in (trials[:cut], trials[cut:]))
    is_apart = median(near) / median(far) - 1 > DOUBT
    return "doubt" if is_apart and median_test(near, far) <= LEVEL else "note"


def remote_share(one):
    """The share of a trial's pages on remote nodes; with several nodes, the worse one."""
    told, where = one.trial["node_bytes"], place(one, "node")
    if not told or not where or sum(told.values()) == 0:
        return None
    here = min(told.get(str(node), 0) for node in where)
    return 1 - here / sum(told.values())


def is_far_from_disks(row):
    """Whether no thread began or ended on a NUMA node of a disk. A hypervisor makes nodes up."""
    top = (row.storage or {}).get("path")
    disks = nodes_of_disks(top) if top and not row.host.get("hypervisor") else None
    places = [place(one, "node") for one in row.figures]
    if disks is None or None in places:
        return False
    threads = {f"node {node}" for places_of_one in places for node in places_of_one}
    return bool(threads) and not threads & disks
