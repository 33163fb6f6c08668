"""The buffers that ioassay's own worker allocates for blocks."""

MIB = 1 << 20
PAGE = 4096
# No machine has smaller huge pages.
HUGE_LEAST = 2 * MIB


def whole(size, unit):
    return -(-size // unit) * unit


def sizes(case):
    """The sizes of a thread's buffers."""
    slots = whole(case.block, PAGE) * case.depth
    if not case.is_write:
        return [] if case.engine in ("null", "mmap", "load") else [slots]
    if case.op == "copy":
        return [slots] if case.engine in ("write", "uring") else []
    if case.op == "sync":
        return []
    return data(case) + ([slots] if case.read_share else [])


def data(case):
    """What is written: a period and a block, and the pages that each block in flight can cover."""
    if case.fill != "random":
        return [whole(case.block, PAGE)]
    divides = len(case.sizes) == 1 and PAGE % case.block == 0
    is_within = divides or case.least_block % PAGE == 0
    window = whole(case.block, PAGE) + (0 if is_within else PAGE)
    return [whole(MIB + case.block, PAGE)] + ([window * case.depth] if case.depth > 1 else [])


def pages(case):
    """Their pages. In older records, they were huge where they filled whole ones."""
    told = case.pages or "fitting"
    largest = whole(case.block, PAGE) * case.depth
    if case.is_write:
        largest = max(largest + PAGE * case.depth, MIB + case.block)
    return "base" if told == "fitting" and largest < HUGE_LEAST else told


def in_huge_pages(case, huge):
    """The bytes of all threads' buffers in huge pages: small ones are filled up."""
    each = sizes(case)
    if huge <= HUGE_LEAST:
        each = [whole(max(size, 1), huge) for size in each]
    return sum(each) * case.threads
