"""Medians, their intervals, and percentiles of histograms."""

from functools import lru_cache

import numpy as np
from scipy import stats

LEVEL = 0.95
# For a run that chose its number of rounds by looking at its results.
LOOKED_LEVEL = 0.995
# The ratio of the standard errors of the median and the mean, for normal values.
MEDIAN_BY_MEAN = np.sqrt(np.pi / 2)
# The number of values in ten thousand above each percentile.
ABOVE = {"p50": 5_000, "p90": 1_000, "p99": 100, "p99_9": 10, "p99_99": 1}
ABOVE_MIN = 10
ABOVE_SOLID = 100
UNITS_LEAST = 3
PARTS = 10_000


@lru_cache(maxsize=None)
def rank(n, level=LEVEL):
    """The rank, from either end, of the exact interval of the median; None if there is none."""
    # P(X < k) for binomial X is the probability that the median lies below the k-th value.
    k = int(stats.binom.ppf((1 - level) / 2, n, 0.5))
    while k > 0 and 2 * stats.binom.cdf(k - 1, n, 0.5) > 1 - level:
        k -= 1
    return k or None


def interval(values, level=LEVEL):
    """The ends of the exact interval of the median of `values`."""
    k = rank(len(values), level)
    if k is None:
        return None, None
    ordered = np.sort(values)
    return float(ordered[k - 1]), float(ordered[len(values) - k])


def by_invocation(pairs):
    """The values of each invocation, in order, from pairs of position and value. A position is an
    invocation, a round, and whether that came after the planned ones."""
    groups = {}
    for (invocation, *_), value in pairs:
        groups.setdefault(invocation, []).append(value)
    return [groups[number] for number in sorted(groups)]


def exchangeable(pairs):
    """The median of each invocation; the values themselves if there is only one invocation."""
    groups = by_invocation(pairs)
    if len(groups) > 1:
        return [float(np.median(group)) for group in groups]
    return [value for _, value in pairs]


class TwoLevels:
    """Logarithms of a quantity in rounds of several invocations, of which the planned ones decide
    the width of the interval."""

    def __init__(self, groups, planned):
        self.middles = [float(np.median(group)) for group in groups]
        self.k = len(groups)
        self.centre = float(np.median(self.middles))
        self.freedom = len(planned) - 1
        self.variance = float(np.var([float(np.median(group)) for group in planned], ddof=1))
        half = (stats.t.ppf(1 - (1 - LEVEL) / 2, self.freedom) * MEDIAN_BY_MEAN
                * np.sqrt(self.variance / self.k))
        self.told = {"median": float(np.exp(self.centre)),
                     "low": float(np.exp(self.centre - half)),
                     "high": float(np.exp(self.centre + half)), "invocations": self.k}
        self.between, self.within = components(groups)

    @staticmethod
    def of(pairs):
        """From pairs of position and logarithm; None with fewer than two planned
        invocations."""
        planned = by_invocation([one for one in pairs if not one[0][2]])
        return TwoLevels(by_invocation(pairs), planned) if len(planned) > 1 else None


def components(groups):
    """The standard deviations between groups, corrected for the variation within them, and within
    groups."""
    means = [float(np.mean(group)) for group in groups]
    freedom = sum(len(group) - 1 for group in groups)
    squares = sum(float(np.sum((np.array(group) - mean) ** 2))
                  for group, mean in zip(groups, means))
    within = squares / freedom if freedom else None
    added = (within or 0.0) * float(np.mean([1 / len(group) for group in groups]))
    between = max(0.0, float(np.var(means, ddof=1)) - added)
    return float(np.sqrt(between)), None if within is None else float(np.sqrt(within))


def estimate(pairs, level, mean=None):
    """A quantity over rounds, as the JSON has it, of pairs of a place and a value; None where there
    are none. The `level` is that of an interval of one invocation, and the `mean` that of the
    values where it is not told."""
    values = [value for _, value in pairs]
    if not values:
        return None
    low, high = interval(values, level)
    told = {"median": float(np.median(values)), "low": low, "high": high,
            "min": float(min(values)), "max": float(max(values)),
            "mean": float(np.mean(values)) if mean is None else mean,
            "invocations": 1, "holds": "within this run", "between": None, "within": None}
    # Values of 0 or below have no logarithm.
    two = min(values) > 0 and TwoLevels.of([(place, np.log(value)) for place, value in pairs])
    if two:
        told |= {**two.told, "holds": "from invocation to invocation",
                 "between": two.between, "within": two.within}
    return told


def whole(value):
    """A median of whole numbers as a whole number: a half is rounded up."""
    return None if value is None else int(np.floor(value + 0.5))


def median(values):
    """The median of the known values; None without any."""
    values = [value for value in values if value is not None]
    return float(np.median(values)) if values else None


class Counted:
    """Latencies in nanoseconds and their counts."""

    def __init__(self, histograms):
        total = {}
        self.max_ns = 0
        for histogram in histograms:
            for ns, count in histogram["counts"]:
                total[ns] = total.get(ns, 0) + count
            self.max_ns = max(self.max_ns, histogram["max_ns"])
        ordered = sorted(total)
        # The middle of a bucket may exceed the maximum.
        self.values = np.minimum(np.array(ordered, dtype=np.int64), self.max_ns)
        self.sums = np.cumsum([total[ns] for ns in ordered], dtype=np.int64)
        self.count = int(self.sums[-1]) if ordered else 0

    def longer(self, values):
        """How many latencies exceed each of `values`."""
        at_most = np.concatenate(([0], self.sums))
        return self.count - at_most[np.searchsorted(self.values, values, side="right")]


class Histogram(Counted):
    """Latencies of all units together, and a list of histograms for each unit."""

    def __init__(self, units):
        super().__init__([one for unit in units for one in unit])
        self.units = [unit for unit in map(Counted, units) if unit.count]

    def pairs(self):
        """Each latency with its count."""
        return zip(self.values.tolist(), np.diff(self.sums, prepend=0).tolist())

    def index(self, k):
        """The 1-based position of the k-th smallest among the values."""
        return int(np.searchsorted(self.sums, k))

    def value(self, k):
        return int(self.values[self.index(k)])

    def above(self, name):
        """How many latencies lie above a percentile, rounded down."""
        return self.count * ABOVE[name] // PARTS

    def percentile(self, name):
        """The percentile; None if too few latencies lie above it."""
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
        """The interval of a percentile from the differences between units; None without a
        percentile."""
        if self.percentile(name) is None:
            return None
        low, high = self.ends(self.index(self.count - self.above(name)), ABOVE[name] / PARTS)
        return {"low": low, "high": high, "solid": self.above(name) >= ABOVE_SOLID}

    def ends(self, index, share):
        """The ends of the interval of the value at `index`, with the share `share` above it."""
        k = len(self.units)
        if k < UNITS_LEAST:
            return None, None
        t = stats.t.ppf(1 - (1 - LEVEL) / 2, k - 1)
        # For each unit, the operations above each value, minus the expected number.
        surplus = np.array([one.longer(self.values) - share * one.count for one in self.units])
        spread = k * surplus.var(axis=0, ddof=1)
        spread = np.sqrt(np.maximum(spread, self.count * share * (1 - share)))
        score = surplus.sum(axis=0) / spread
        away = t * spread[index]
        rank = self.count * (1 - share)
        ranks = (np.floor(np.clip(rank - away, 1, self.count)),
                 min(np.ceil(np.clip(rank + away, 1, self.count) + 1), self.count))
        by_rank = [self.index(one) for one in ranks]
        # The contiguous values around the percentile that are not rejected.
        is_too_many, is_too_few = np.flatnonzero(score > t), np.flatnonzero(score < -t)
        before, after = is_too_many[is_too_many < index], is_too_few[is_too_few >= index]
        low = min(by_rank[0], before[-1] + 1 if before.size else 0)
        last = len(self.values) - 1
        high = max(by_rank[1], min(after[0], last) if after.size else last)
        return int(self.values[low]), int(self.values[high])
