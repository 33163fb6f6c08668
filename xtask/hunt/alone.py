"""Holds what is said of a row against the same case asked alone: what served it, and what is found
of that, depends on no other case. Speeds do not matter here, so a busy machine breaks nothing.
"""

from laws import OF_SPEED, Fault
from speeds import describes

# What is found of a row beside others, by its rule.
OF_OTHERS = {"AboveCeiling", "OverRead", "Imbalanced", "DepthNotReached", "CountersUnseen"}


def judged(row):
    """What a row claims and what is found of that."""
    found = {finding["code"] for finding in row["findings"] if finding["severity"] != "note"}
    durable = (row["writing"] or {}).get("durable") is not None
    return row["served_by"], durable, tuple(sorted(found - OF_SPEED - OF_OTHERS))


def held(chance):
    """What `play` calls while the storage stands: chooses a row and asks its case alone."""

    def more(asked, said, ask, _folder):
        rows = [row for row in said["cases"] if row["role"] == "asked" and row["throughput"]
                and row["case"].get("cache") in ("direct", "warm", "cold")]
        if not rows or len(asked.cases) < 2 or asked.neighbour or asked.hosts or asked.sustained:
            return []
        return list(hold(chance.choice(rows), asked, ask))

    return more


def hold(row, asked, ask):
    """Yields a fault if two runs of either kind agree with each other, and not with the others."""
    alone = asked.changed(cases=[axes for axes in asked.cases if describes(axes, row["case"])])
    among, single = [judged(row)], []
    for _ in range(2):
        answers = [ask(other, row["id"]) for other in (alone, asked)]
        if not all(answer and answer["throughput"] for answer in answers):
            return
        single.append(judged(answers[0]))
        among.append(judged(answers[1]))
        if set(single) & set(among):
            return
    if len(set(single)) == len(set(among)) == 1:
        yield Fault("alone", row["id"], f"{single[0]} alone, {among[0]} among other cases")
