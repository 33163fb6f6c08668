"""Whether writing became steady, by the SNIA's rule, and the cliff where its fast part ended."""

import numpy as np

import courses
from intervals import whole

# Rounds count once the file has been written as often.
TIMES = 2
ROUNDS = 5
# The first quarter of the run is searched for a fall, then the first quarter of that, and so on.
QUARTER = 4
LOWER = 0.8
RARE = 0.01


class Chance:
    """Whether random orders may decide either way."""

    def __init__(self):
        self.maybe = set()


def steady(rows, said):
    """Adopts ioassay's cliff if random orders may decide either way."""
    asked = [row for row in rows
             if row.role == "asked" and row.sustain is not None and row.write and row.stands]
    adopted = {one["case"]: one["cliff"] for one in said}
    states = []
    for row in asked:
        chance = Chance()
        found = state(row, chance)
        if chance.maybe:
            found["cliff"] = adopted.get(row.id)
        states.append(found)
    return states


def state(row, chance):
    told = row.course
    rates = told["rates"] if told else []
    step = told["step_s"] if told else 0
    enough = TIMES * row.case.size * 100 // (100 - (row.case.read_share or 0))
    ends = np.concatenate([[0.0], np.cumsum(np.asarray(rates, dtype=float) * step)])
    first = next((at for at in range(len(rates)) if ends[at] >= enough), None)
    counting = rates[first:] if first is not None else []
    last = counting[-ROUNDS:] if len(counting) >= ROUNDS else None
    since = None
    if last and courses.is_steady(last):
        at = len(rates) - ROUNDS
        while at > first and courses.is_steady(rates[at - 1:at - 1 + ROUNDS]):
            at -= 1
        rate = told["sustained"] if told["sustained"] is not None else float(np.mean(rates[at:]))
        since = {"round": at + 1, "at_bytes": whole(ends[at]), "rate": rate}
    mean = float(np.mean(last)) if last else None
    return {
        "case": row.id,
        "steady": "undecided" if last is None else "yes" if since else "no",
        "bytes": sum(one.bytes for one in row.figures),
        "rounds": len(rates),
        "round_s": step if told else None,
        "preconditioning_bytes": enough,
        "counts_from": None if first is None else first + 1,
        "since": since,
        "range": (max(last) - min(last)) / mean if last else None,
        "slope": courses.excursion(last) / mean if last else None,
        "cliff": cliff(row, told, chance) if told else None,
    }


def cliff(row, told, chance):
    """The step of the whole series; else the fall in the longest first part that has one."""
    if told["change"]:
        step = told["step_s"] * 1e9
        return beside(told["change"], told["rates"], step)
    lump = courses.lump_ns(row)
    if courses.ends_with_only_sync(row) or lump is None:
        return None
    curve = courses.Curve(row.figures, with_syncs=True)
    lengths, length = [], curve.length // QUARTER
    while courses.full_steps(length, courses.JUDGED) >= courses.WINDOW:
        lengths.append(length)
        length //= QUARTER
    for length in lengths:
        found = early(chance, curve, length, lump, RARE / len(lengths))
        if found:
            return found
    return None


def early(chance, curve, length, lump, alpha):
    step = max(courses.JUDGED,
               courses.whole_step(max(length / courses.STEPS_MOST, lump * courses.LUMPS_LEAST)))
    rates = curve.rates(step)
    at = courses.split(rates[:courses.full_steps(length, step)], chance, alpha)
    if at is None:
        return None
    before, after = float(np.median(rates[:at])), float(np.median(rates[at:]))
    if after > LOWER * before:
        return None
    change = {"before": before, "after": after, "at_bytes": whole(curve.at(at * step)),
              "at_s": at * step / 1e9}
    return beside(change, rates, step)


def beside(change, rates, step):
    """The step with what lies within it, and what was saved up until then."""
    at = int(round(change["at_s"] * 1e9 / step))
    within = sum(whole(rate * step / 1e9) for rate in rates[max(0, at - 1):at + 1])
    rises = change["after"] > change["before"]
    saved = max(0, change["at_bytes"] - whole(change["after"] * change["at_s"]))
    return {**change, "within_bytes": within, "saved_bytes": None if rises else saved}
