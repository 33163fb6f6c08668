"""The answer of rows to a question: yes, no or undecided."""

import numpy as np
from scipy import stats

from comparisons import DEVICE_INTEREST, MEMORY_INTEREST, compares, difference, logs_of, paired
from intervals import MEDIAN_BY_MEAN, TwoLevels, exchangeable

LEVEL = 0.05


def is_faster(row, base, rates=None, others=None, interest=None):
    """Whether a row is faster than another, with the ratio; None if either is void or has no
    rate."""
    rates = row.rates() if rates is None else rates
    others = base.rates() if others is None else others
    found = paired(rates, others)
    if not found or not (row.stands and base.stands):
        return None
    if interest is None:
        interest = DEVICE_INTEREST if base.served_by == "device" else MEMORY_INTEREST
    if not (compares(row, found) and compares(base, found)):
        return "undecided", found
    if difference(found, interest) == "different" and found["median"] > 1:
        return "yes", found
    if found["high"] is not None and is_refuted(row, base, found, interest):
        return "no", found
    return "undecided", found


def is_refuted(row, base, found, interest):
    """Whether the interval ends below what counts as faster: of a doubtful row, below 1, unless the
    two are equivalent."""
    are_sound = row.verdict == base.verdict == "sound"
    if not are_sound and difference(found, interest) == "inconclusive":
        return found["high"] < 1
    return found["high"] <= 1 + interest


def shown(ratio):
    """What answers show of a ratio."""
    return {name: ratio[name] for name in ("median", "low", "high", "pairs", "invocations")}


def plateau(rows, top, flows, in_flight):
    """Whether a row shows that the rate no longer grows with the I/Os in flight of `top`."""
    if not flows(top):
        return False
    def kind(row):
        return bool(row.write), row.case.has_huge_buffers, row.case.cache, row.case.pattern
    most = in_flight(top.case)
    for other in rows:
        if not flows(other) or not other.is_served("device") or kind(other) != kind(top):
            continue
        has = in_flight(other.case)
        asked = None
        if has >= 2 * most:
            asked = is_faster(other, top)
        elif 2 * has <= most:
            asked = is_faster(top, other)
        if asked and asked[0] == "no":
            return True
    return False


def median_test(ours, others):
    """Mood's two-sided median test, with the hypergeometric distribution. Counts the values above
    the common median, which for an even number is the lower of the middle two."""
    both = sorted(list(ours) + list(others))
    middle = both[(len(both) - 1) // 2]
    above = sum(value > middle for value in ours)
    drawn = above + sum(value > middle for value in others)
    of = stats.hypergeom(len(both), drawn, len(ours))
    return float(min(1.0, 2 * min(of.cdf(above), of.sf(above - 1))))


def is_apart(rounds, others, rivals):
    """Whether two rows differ by more than chance, with this many rivals of the best."""
    if rivals == 1:
        return True
    level = LEVEL / rivals
    ratios = TwoLevels.of(logs_of(rounds, others))
    if ratios:
        error = MEDIAN_BY_MEAN * np.sqrt(ratios.variance / ratios.k)
        if ratios.centre == 0 or error == 0:
            return ratios.centre != 0
        return 2 * stats.t.sf(abs(ratios.centre) / error, ratios.freedom) <= level
    ours, theirs = exchangeable(rounds.items()), exchangeable(others.items())
    wholly = median_test(np.arange(len(ours)) + len(theirs), np.arange(len(theirs)))
    # The same sum in a different order may differ in its last digits.
    return median_test(ours, theirs) <= max(level, wholly) * (1 + 1e-9)


def lead(contestants):
    """Ranks rows with their rates and rounds: the fastest row, the decision, and the rows that do
    not differ from it. None without rows."""
    best = None
    for one in contestants:
        if best is None or one[1]["median"] >= best[1]["median"]:
            best = one
    if best is None:
        return None
    row, _, rounds = best
    sound = [one for one in contestants if one is not best and one[0].verdict == "sound"]
    alike, words = [], []
    for other, _, others in sound:
        asked = is_faster(row, other, rounds, others)
        if not asked:
            continue
        word = asked[0]
        if word == "yes" and not is_apart(rounds, others, len(sound)):
            word = "undecided"
        if word != "yes":
            alike.append(other.id)
            words.append(word)
    if row.verdict != "sound":
        decision = "undecided"
    elif not alike:
        decision = "yes"
    else:
        decision = "no" if all(word == "no" for word in words) else "undecided"
    return row, decision, alike
