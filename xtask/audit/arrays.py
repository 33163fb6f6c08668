"""What served the arrays of memory kernels: the processor's caches or memory."""

from rows import BEYOND_CACHES, OWN

ARRAYS = {"copy": 2, "copy-nt": 2, "triad": 3, "triad-nt": 3}
GRANULE, LINE = 4096, 64
EITHER = ("cpu-cache-or-ram", None)


def place(rows, levels):
    """Says of each row with arrays what served them; `levels` are those that chases show."""
    for row in rows:
        if row.memory:
            row.arrays = served_by(row, levels)


def served_by(row, levels):
    """The label, and the level of the caches if it is known."""
    case = row.case
    # A pass over touched pages brings one line of each.
    passed = case.working_set
    if case.kernel in ("touch-pages", "read-pages"):
        passed = case.working_set // max(case.step, LINE) * LINE
    if row.is_beyond_caches(passed):
        return "ram", None
    caches = [size for size in row.host.get("caches") or [] if size > 0]
    size = size_of(case)
    holding = [place for place, cache in enumerate(caches) if cache >= size]
    bypasses = case.kernel.endswith("-nt") or case.kernel == "first-touch"
    if bypasses or not holding or are_alike(levels, size, caches[-1]):
        return EITHER
    place = holding[0]
    is_past = place == 0 or size >= BEYOND_CACHES * case.threads * caches[place - 1]
    is_known = is_past and not are_alike(levels, size, caches[place])
    return "cpu-cache", place + 1 if is_known else None


def size_of(case):
    """The bytes of all arrays, each in whole units."""
    arrays = ARRAYS.get(case.kernel, 1)
    each = case.working_set // case.threads // arrays
    return max(1, -(-each // GRANULE)) * GRANULE * arrays * case.threads


def are_alike(levels, size, cache):
    """Whether chases show one level for a size and for what is far beyond a cache."""
    own = [one for one in levels if one["peer"] == OWN]
    if not own:
        return False
    told = next((one for one in own if one["pages"] != "base"), own[0])
    for level in told["levels"]:
        if level["from"] <= size <= level["to"]:
            return level["to"] >= BEYOND_CACHES * cache
    return False
