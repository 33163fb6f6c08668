"""Whether rounds fall into two levels that go with where their threads ran."""

import math
from collections import Counter

from intervals import median

NOTE = 0.05
DOUBT = 0.20
LEVEL_LEAST = 3
CHANCE_MOST = 0.01


def cpu_levels(row):
    """The severity of the levels by nodes, or of one thread by CPUs."""
    apart = levels(row, "node")
    if apart is None and row.case.threads == 1:
        apart = levels(row, "cpu")
    if apart is None or apart <= NOTE:
        return None
    return "doubt" if apart > DOUBT else "note"


def place(figures, name):
    """All where the threads of a trial began and ended; None where one does not tell."""
    seats = [span.get(end) for span in figures.spans for end in ("start_seat", "end_seat")]
    return None if None in seats else frozenset(seat[name] for seat in seats)


def levels(row, name):
    """How far two levels are apart that go with `name`; None where there are none."""
    if any(place(one, name) is None for one in row.figures):
        return None
    rounds = sorted(((median(one.main for one in unit),
                      frozenset().union(*(place(one, name) for one in unit)))
                     for unit in row.by_unit()), key=lambda one: one[0])
    cuts = range(LEVEL_LEAST, len(rounds) - LEVEL_LEAST + 1)
    if not cuts:
        return None
    # Of gaps that are as wide the highest counts.
    cut = max(cuts, key=lambda at: (rounds[at][0] / rounds[at - 1][0], at))
    slow, fast = rounds[:cut], rounds[cut:]
    if frozenset().union(*(there for _, there in slow)) & frozenset().union(
            *(there for _, there in fast)):
        return None
    if chance(Counter(there for _, there in rounds).values(), len(fast)) > CHANCE_MOST:
        return None
    return median(rate for rate, _ in fast) / median(rate for rate, _ in slow) - 1


def chance(sizes, count):
    """Of all ways to choose `count` rounds, the share of those that are whole places, of which each
    has so many rounds as `sizes` tells."""
    ways = Counter({0: 1})
    for size in sizes:
        ways += Counter({chosen + size: number for chosen, number in ways.items()})
    return ways[count] / math.comb(sum(sizes), count)
