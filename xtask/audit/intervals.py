"""Medians, their exact intervals, and percentiles of histograms."""

from functools import lru_cache

import numpy as np
from scipy import stats

LEVEL = 0.95
# The parts of ten thousand that lie above each percentile.
ABOVE = {"p50": 5_000, "p90": 1_000, "p99": 100, "p99_9": 10, "p99_99": 1}
ABOVE_MIN = 10
ABOVE_SOLID = 100
ROUNDS_LEAST = 3
PARTS = 10_000


@lru_cache(maxsize=None)
def rank(n):
    """The rank from either end of the exact interval of the median; None if there is none."""
    # P(X < k) for X binomial is the chance that the median lies below the k-th value.
    k = int(stats.binom.ppf((1 - LEVEL) / 2, n, 0.5))
    while k > 0 and 2 * stats.binom.cdf(k - 1, n, 0.5) > 1 - LEVEL:
        k -= 1
    return k or None


def interval(values):
    """The ends of the exact interval of the median of `values`."""
    k = rank(len(values))
    if k is None:
        return None, None
    ordered = np.sort(values)
    return float(ordered[k - 1]), float(ordered[len(values) - k])


def estimate(values, mean=None):
    """A quantity over rounds, as the JSON has it; None where there is no value. The `mean` is that
    of the values where it is not told."""
    values = [value for value in values if value is not None]
    if not values:
        return None
    low, high = interval(values)
    return {"median": float(np.median(values)), "low": low, "high": high,
            "min": float(min(values)), "max": float(max(values)),
            "mean": float(np.mean(values)) if mean is None else mean}


def whole(value):
    """A median of whole numbers as a whole number: a half is rounded up."""
    return None if value is None else int(np.floor(value + 0.5))


def ratio(values):
    """A median of paired ratios, as the JSON has it."""
    values = list(values)
    if not values:
        return None
    low, high = interval(values)
    return {"median": float(np.median(values)), "low": low, "high": high, "pairs": len(values)}


def median(values):
    """The median of those that are known; None where none is."""
    values = [value for value in values if value is not None]
    return float(np.median(values)) if values else None


class Counted:
    """Latencies in nanoseconds, each with how often it occurred."""

    def __init__(self, histograms):
        total = {}
        self.max_ns = 0
        for histogram in histograms:
            for ns, count in histogram["counts"]:
                total[ns] = total.get(ns, 0) + count
            self.max_ns = max(self.max_ns, histogram["max_ns"])
        ordered = sorted(total)
        # Middles of buckets may be above the longest.
        self.values = np.minimum(np.array(ordered, dtype=np.int64), self.max_ns)
        self.sums = np.cumsum([total[ns] for ns in ordered], dtype=np.int64)
        self.count = int(self.sums[-1]) if ordered else 0

    def longer(self, values):
        """How many took longer than each of `values`."""
        at_most = np.concatenate(([0], self.sums))
        return self.count - at_most[np.searchsorted(self.values, values, side="right")]


class Histogram(Counted):
    """Latencies of all rounds together, and of each."""

    def __init__(self, histograms):
        super().__init__(histograms)
        self.rounds = [Counted([one]) for one in histograms if one["counts"]]

    def pairs(self):
        """Each latency with how often it occurred."""
        return zip(self.values.tolist(), np.diff(self.sums, prepend=0).tolist())

    def index(self, k):
        """Where the k-th smallest is among the values, from 1."""
        return int(np.searchsorted(self.sums, k))

    def value(self, k):
        return int(self.values[self.index(k)])

    def above(self, name):
        """How many lie above a percentile, rounded down."""
        return self.count * ABOVE[name] // PARTS

    def percentile(self, name):
        """What a share of all do not exceed; None where too few lie above it."""
        above = self.above(name)
        return self.value(self.count - above) if above >= ABOVE_MIN else None

    def latency(self):
        told = {name: self.percentile(name) for name in ABOVE}
        told["max"] = self.max_ns if self.count else None
        told["count"] = self.count
        return told

    def intervals(self):
        return {name: self.interval(name) for name in ABOVE}

    def interval(self, name):
        """The interval of a percentile by how rounds differ; None where there is no percentile."""
        if self.percentile(name) is None:
            return None
        low, high = self.ends(self.index(self.count - self.above(name)), ABOVE[name] / PARTS)
        return {"low": low, "high": high, "solid": self.above(name) >= ABOVE_SOLID}

    def ends(self, index, share):
        """The ends of the interval of the value at `index`, above which lies `share`."""
        k = len(self.rounds)
        if k < ROUNDS_LEAST:
            return None, None
        t = stats.t.ppf(1 - (1 - LEVEL) / 2, k - 1)
        # Of each round the operations above each value, less as many as there should be.
        surplus = np.array([one.longer(self.values) - share * one.count for one in self.rounds])
        spread = k * surplus.var(axis=0, ddof=1)
        spread = np.sqrt(np.maximum(spread, self.count * share * (1 - share)))
        score = surplus.sum(axis=0) / spread
        away = t * spread[index]
        rank = self.count * (1 - share)
        ranks = (np.floor(np.clip(rank - away, 1, self.count)),
                 min(np.ceil(np.clip(rank + away, 1, self.count) + 1), self.count))
        by_rank = [self.index(one) for one in ranks]
        # By bisection: rounds of other lengths can make the test accept again far away.
        low = min(by_rank[0], first(0, index, lambda at: score[at] <= t))
        last = len(self.values) - 1
        high = max(by_rank[1], first(index, last, lambda at: score[at] < -t))
        return int(self.values[low]), int(self.values[high])


def first(low, high, is_past):
    """The first place from `low` to `high` that is past a border, by bisection."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_past(middle) else (middle + 1, high)
    return low
