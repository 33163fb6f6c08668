"""What was read of a file that was overwritten meanwhile."""

KINDS = ("before", "first", "second", "torn", "wrong", "mixed_ops")
MOST = 2**64 - 1


def plus(one, other):
    return {kind: min(MOST, one[kind] + other[kind]) for kind in KINDS}


def total(every):
    """The sum of all; None if there are none."""
    every = list(every)
    if not every:
        return None
    whole = dict.fromkeys(KINDS, 0)
    for one in every:
        whole = plus(whole, one)
    return whole


def of_spans(spans):
    every = [span.get("pages") for span in spans]
    return None if None in every else total(every)


def readers(trial):
    """The spans, and the pages, of the case and of the actors that tell pages."""
    done = [one["outcome"].get("done") for one in trial.beside if isinstance(one["outcome"], dict)]
    every = [trial.spans, *(one["spans"] for one in done if one)]
    return [(spans, of_spans(spans)) for spans in every if of_spans(spans) is not None]


def pages(trial):
    return total(part for _, part in readers(trial))


def count(part):
    return min(MOST, sum(part[kind] for kind in KINDS[:5]))


def new(part):
    return min(MOST, part["first"] + part["second"])


def has_changed(part):
    return part["torn"] > 0 or sum(part[kind] > 0 for kind in KINDS[:3]) > 1


def every(row):
    return total(one.pages for one in row.figures if one.pages)


def told(row):
    """The figures in JSON form; None unless such pages were read."""
    part = every(row)
    if part is None or not count(part):
        return None
    return {"pages": count(part), "new_share": new(part) / count(part), "torn_pages": part["torn"],
            "wrong_pages": part["wrong"], "mixed_ops": part["mixed_ops"]}


def of_trial(trial):
    """What the JSON of a trial has of it."""
    part = pages(trial)
    if part is None:
        return {"pages_read": None, "new_pages": None, "torn_pages": None}
    return {"pages_read": count(part), "new_pages": new(part), "torn_pages": part["torn"]}


def writes_whole_blocks(row):
    """Whether each block that is read lies within one that is written at once."""
    cases = [row.case, *row.sharing]
    writers = [case for case in cases if case.is_write]
    readers = [case for case in cases if case.is_read]
    if not writers or any(len(case.sizes) > 1 for case in cases):
        return False
    return all(writers[0].block % case.block == 0 for case in readers)


def torn_pages(row):
    part = every(row)
    if part is None:
        return None
    is_torn = part["torn"] or part["mixed_ops"] and writes_whole_blocks(row)
    return "note" if is_torn else None


def overlap_unseen(row):
    unseen = [one for one in row.figures if one.pages and not has_changed(one.pages)]
    if not unseen:
        return None
    return "doubt" if 2 * len(unseen) > len(row.figures) else "note"
