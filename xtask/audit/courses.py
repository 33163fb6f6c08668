"""Time series: the rate over time, and whether it has a step."""

import numpy as np
from scipy.stats import rankdata

from intervals import interval, whole

PROGRESS = 100_000_000
STEPS_MOST = 60
STEPS_LEAST = 5
JUDGED = 500_000_000
SUSTAIN = 1_000_000_000
WINDOW = 10
SNIA_WINDOW = 5
RANGE_MOST = 0.20
EXCURSION_MOST = 0.10
LUMPS_LEAST = 10
LOADING_MOST = 0.05
# A step counts as full if at most this share is missing, because clocks differ.
MISSING = 0.01
SIDE_LEAST = 3
LOWER_MOST = 0.8
DRIFT_MOST = 0.5
EXACT_MOST = 16
ORDERS = 9_999
ALPHA = 0.01


class Curve:
    """The bytes moved by a given time: straight lines between knots."""

    def __init__(self, figures, with_syncs=False):
        self.ns, self.bytes = [0], [0.0]
        for one in figures:
            start, moved = self.ns[-1], self.bytes[-1]
            length = max(span["end_ns"] - span["start_ns"] for span in one.spans)
            progress = [span.get("progress") or [] for span in one.spans]
            for step in range(max(map(len, progress))):
                moved += sum(told[step] for told in progress if step < len(told))
                self.knot(start + min((step + 1) * PROGRESS, length), moved)
            self.knot(start + length, moved)
            if with_syncs:
                self.knot(start + length + max(0, one.timed_ns - one.elapsed_ns), moved)

    def knot(self, ns, moved):
        self.ns.append(ns)
        self.bytes.append(float(moved))

    @property
    def length(self):
        return self.ns[-1]

    def at(self, ns):
        # For knots at the same time, the last one counts.
        right = int(np.searchsorted(self.ns, ns, side="right"))
        if right >= len(self.ns):
            return self.bytes[-1]
        left = right - 1
        part = (ns - self.ns[left]) / (self.ns[right] - self.ns[left])
        return self.bytes[left] + (self.bytes[right] - self.bytes[left]) * part

    def rates(self, step):
        steps = full_steps(self.length, step)
        ends = [self.at(number * step) for number in range(steps + 1)]
        return [(b - a) * 1e9 / step for a, b in zip(ends, ends[1:])]


def full_steps(length, step):
    return int(length / step + MISSING)


def whole_step(ns):
    return PROGRESS * max(1, int(np.ceil(ns / PROGRESS - MISSING)))


def lump_ns(row):
    """The time in nanoseconds between the discrete events that make the rate uneven; None if
    unknown."""
    figures, case = row.figures, row.case
    if not figures or case.is_null or case.rate:
        return None
    if not all(any(span.get("progress") for span in one.spans) for one in figures):
        return None
    ns = sum(one.elapsed_ns for one in figures)
    moved = sum(one.bytes for one in figures)
    ops = sum(one.ops for one in figures)
    if case.is_memory:
        lumps = moved / case.working_set
    elif row.file and sum(one.load_ns or 0 for one in figures) > LOADING_MOST * ns:
        lumps = moved / case.size
    elif row.write and case.every:
        lumps = ops / case.every / case.threads
    else:
        lumps = ops
    return ns / lumps if moved and lumps else None


def ends_with_only_sync(row):
    case = row.case
    return (case.is_write and case.op != "sync" and case.claims_durable
            and case.sync != "dsync" and case.every == 0
            and any(one.synced_ns is not None for one in row.figures))


def trial_rates(row):
    return row.values(lambda one: one.throughput)


def slope(values):
    return float(np.polyfit(range(len(values)), values, 1)[0]) if len(values) > 1 else 0.0


def excursion(values):
    return slope(values) * (len(values) - 1)


def is_steady(window):
    mean = np.mean(window)
    return bool(max(window) - min(window) <= RANGE_MOST * mean
                and abs(excursion(window)) <= EXCURSION_MOST * mean)


def course(row):
    """The time series in JSON form; None if there is none."""
    if not row.figures:
        return None
    steps = cut(row)
    if steps is None:
        return None
    step, curves, each = steps
    rates = medians(each)
    if len(rates) < STEPS_LEAST:
        return None
    is_sustained = row.sustain is not None
    window = last_window(row) if is_sustained else rates[-WINDOW:]
    window = window if window and len(window) == WINDOW else None
    steady = is_steady(window) if window else None
    snia = [end for end in range(SNIA_WINDOW, len(rates) + 1)
            if is_steady(rates[end - SNIA_WINDOW:end])]
    return {
        "step_s": step / 1e9, "rates": rates, "is_steady": steady,
        "snia_5_at_step": snia[0] - 1 if snia else None,
        "sustained": float(np.mean(window)) if is_sustained and steady else None,
        "change": agreed(row, curves, each, step),
    }


def cut(row):
    """The length of a step, the curves, and their rates."""
    if row.sustain is not None:
        curves = [Curve(row.figures, with_syncs=True)]
        if ends_with_only_sync(row):
            step = max(1, curves[0].length // len(row.figures))
            return step, curves, [trial_rates(row)]
    else:
        curves = [Curve([one]) for one in row.figures]
    lump = lump_ns(row)
    if lump is None:
        return None
    longest = max(curve.length for curve in curves)
    least = JUDGED if full_steps(longest, JUDGED) >= WINDOW else PROGRESS
    step = max(least, whole_step(max(longest / STEPS_MOST, lump * LUMPS_LEAST)))
    return step, curves, [curve.rates(step) for curve in curves]


def medians(each):
    """The median of each step that at least half of the trials have."""
    rates = []
    for step in range(max(map(len, each))):
        there = [rates[step] for rates in each if step < len(rates)]
        if 2 * len(there) < len(each):
            break
        rates.append(float(np.median(there)))
    return rates


def last_window(row):
    if ends_with_only_sync(row):
        rates = trial_rates(row)
    else:
        lump = lump_ns(row)
        if lump is None:
            return None
        step = max(SUSTAIN, whole_step(lump * LUMPS_LEAST))
        rates = Curve(row.figures, with_syncs=True).rates(step)
    end = len(rates) // WINDOW * WINDOW
    return rates[end - WINDOW:end] if end else None


def best_splits(orders):
    """The best split of each row of `orders` into two levels, and the sum of squares it
    explains."""
    n = orders.shape[1]
    at = np.arange(SIDE_LEAST, n - SIDE_LEAST + 1)
    sums = np.cumsum(orders, axis=1)[:, at - 1]
    step = sums / at - (orders.sum(axis=1)[:, None] - sums) / (n - at)
    explained = step**2 * at * (n - at) / n
    # Among equally good positions, the last one counts.
    best = explained.shape[1] - 1 - np.argmax(explained[:, ::-1], axis=1)
    return at[best], explained[np.arange(len(orders)), best]


def split(rates, row=None, alpha=ALPHA):
    """The position of the step in `rates`; None if there is none. Marks `row` if the random orders
    do not decide."""
    rates = np.asarray(rates, dtype=float)
    if len(rates) < 2 * SIDE_LEAST:
        return None
    (at,), (explained,) = best_splits(rates[None, :])
    before, after = rates[:at], rates[at:]
    low, high = sorted((before.mean(), after.mean()))
    limit = DRIFT_MOST * (high - low)
    if low > LOWER_MOST * high or abs(excursion(before)) >= limit:
        return None
    if abs(excursion(after)) >= limit:
        return None
    if len(rates) <= EXACT_MOST:
        return int(at) if share_of_orders(rates, explained) <= alpha else None
    is_rare = rarity(rates, lambda orders: best_splits(orders)[1], explained, row, "StepChange",
                     alpha)
    return int(at) if is_rare else None


def share_of_orders(rates, explained):
    """The share of all orders of `rates` that split at least as well.

    An order does if the set of its first rates does, for some number of them. So the other orders
    are the paths from no rate to all rates, one more at a time. These paths avoid every such set.
    """
    n = len(rates)
    sets = np.arange(1 << n)
    members = (sets[:, None] >> np.arange(n)) & 1
    count = members.sum(axis=1)
    sums = members @ rates
    inside = (count >= SIDE_LEAST) & (count <= n - SIDE_LEAST)
    before = np.where(inside, count, 1)
    after = np.where(inside, n - count, 1)
    step = sums / before - (rates.sum() - sums) / after
    is_split = inside & (step**2 * before * after / n >= explained * (1 - 1e-9))
    ways = np.zeros(1 << n)
    ways[0] = 1.0
    for size in range(1, n + 1):
        there = sets[(count == size) & ~is_split]
        for bit in range(n):
            having = there[(there >> bit) & 1 == 1]
            ways[having] += ways[having ^ (1 << bit)] / size
    return 1 - ways[-1]


def rarity(values, statistic, measured, row, code, alpha=ALPHA):
    """Whether fewer than one in a hundred random orders are as good."""
    if measured <= 0:
        return False
    random = np.random.default_rng(1)
    orders = random.permuted(np.tile(values, (ORDERS, 1)), axis=1)
    share = float(np.mean(statistic(orders) >= measured * (1 - 1e-9)))
    # Other random orders give a different share: within four standard errors of both, nothing is
    # decided.
    error = 4 * np.sqrt(alpha * (1 - alpha) * 2 / ORDERS)
    if row is not None and abs(share - alpha) <= error:
        row.maybe.add(code)
    return share <= alpha


def agreed(row, curves, each, step):
    """The step on which at least half of the trials agree."""
    changes = []
    for curve, rates in zip(curves, each):
        at = split(rates, row)
        if at is not None:
            changes.append((float(np.median(rates[:at])), float(np.median(rates[at:])),
                            whole(curve.at(at * step)), at * step))
    rises = [one for one in changes if one[1] > one[0]]
    falls = [one for one in changes if one[1] <= one[0]]
    alike = rises if len(rises) > len(falls) else falls
    if not alike:
        return None
    middle = np.median([one[2] for one in alike])
    alike = [one for one in alike if middle / 2 <= one[2] <= middle * 2]
    if 2 * len(alike) < len(curves):
        return None
    before, after, at_bytes, at_ns = (float(np.median(part)) for part in zip(*alike))
    return {"before": before, "after": after, "at_bytes": whole(at_bytes),
            "at_s": whole(at_ns) / 1e9}


def lag_one(orders):
    orders = np.atleast_2d(orders)
    off = orders - orders.mean(axis=1, keepdims=True)
    square = (off**2).sum(axis=1)
    product = (off[:, :-1] * off[:, 1:]).sum(axis=1)
    return np.where(square > 0, product / np.where(square > 0, square, 1), 0.0)


ROUNDS_LEAST = 10
PRECISE = 0.025


def drift(rates, row):
    """The autocorrelation of the rounds, if it exceeds chance and matters."""
    if len(rates) < ROUNDS_LEAST:
        return None
    placed = rankdata(rates)
    r = float(lag_one(placed)[0])
    low, high = interval(rates)
    if r <= 0 or low is None:
        return None
    middle = float(np.median(rates))
    half = (high - low) / 2 / middle
    if half * np.sqrt((1 + r) / (1 - r)) <= PRECISE:
        return None
    return r if rarity(placed, lag_one, r, row, "Drifting") else None
