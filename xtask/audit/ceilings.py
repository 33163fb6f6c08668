"""Ceilings, and the findings on rows that are compared with them."""

import idle
import open_loop
from comparisons import ratio_of_any, ratio_of
from decisions import plateau
from intervals import median
from rows import fastest, SEVERITIES
from writing import FLUSHES_LEAST

MIB = 1 << 20
# Arrays moved on the bus, relative to those counted.
BUS = {"read": 1, "count": 1, "write": 2, "copy": 3 / 2, "triad": 4 / 3, "write-nt": 1,
       "copy-nt": 1, "triad-nt": 1}
AS_FAST = 0.95
TOUCHES_PAGES = ("touch-pages", "first-touch", "read-pages")


def overhead_of(row, rows):
    """The null engine that measures the tool's overhead for an operation like that of `row`."""
    case = row.case
    if case.is_memory:
        return None
    nulls = [one for one in rows if one.case.is_null and not one.case.rate and one.counted]
    writers = [one for one in nulls if one.case.is_write and one.case.block <= (case.block or 0)]
    if case.is_write and writers:
        return max(writers, key=lambda one: (one.case.pattern == case.pattern, one.case.block))
    readers = [one for one in nulls if one.case.is_read]
    alike = [one for one in readers if one.case.pattern == case.pattern] or readers
    return alike[0] if alike else None


def overhead(rows):
    """The tool's own overhead, from the first null that reads, or else from one that writes."""
    nulls = [one for one in rows
             if one.case.is_null and not one.case.rate and one.ns_per_op]
    nulls.sort(key=lambda one: one.case.is_write)
    return nulls[0].ns_per_op["median"] if nulls else None


def reads_memory(row):
    """Whether the row is a memory ceiling."""
    case = row.memory
    return bool(case and row.stands and row.is_own and case.kernel == "read"
                and case.pages == "huge" and row.is_beyond_caches(case.working_set))


def memory_read(rows, threads):
    return fastest(row for row in rows if reads_memory(row) and row.case.threads == threads)


MOTIONS = {"read": "reads", "count": "reads", "write": "writes", "write-nt": "writes",
           "copy": "copies", "copy-nt": "copies", "triad": "triads", "triad-nt": "triads"}


def fastest_loop(rows, motion, pages, row):
    """The fastest of ioassay's own loops that move bytes in this way, far beyond the caches, with
    as many threads as `row`, or the next larger number, or all processors."""
    def is_loop(one):
        case = one.memory
        return bool(case and one.stands and one.is_own and MOTIONS.get(case.kernel) == motion
                    and case.pages == pages and one.is_beyond_caches(case.working_set))
    loops = [one for one in rows if is_loop(one)]
    known = {one.case.threads for one in loops}
    enough = [threads for threads in known if threads >= row.case.threads]
    if not enough and not (known and max(known) >= row.parallelism):
        return None
    threads = min(enough) if enough else max(known)
    return fastest(one for one in loops if one.case.threads == threads)


def memory_bound(row, rows):
    """The ceiling of what memory or the page cache served."""
    if row.memory:
        return fastest_loop(rows, MOTIONS.get(row.case.kernel), row.case.pages, row)
    writes = fastest_loop(rows, "writes", "huge", row) if row.write else None
    return writes or fastest_loop(rows, "reads", "huge", row)


def in_flight(case):
    return case.block * case.depth * case.threads


def flows(row):
    """Whether a row moves the bytes of a file, has the device to itself, and no schedule."""
    moves = row.file or (row.write and row.case.op != "sync")
    return bool(moves) and not row.case.beside and not row.case.read_share and not row.case.rate


def fastest_direct(rows, like):
    """The fastest direct row that does what `like` does: in the same pages if that is direct, too.
    The page cache has pages of its own."""
    writes = bool(like.write)

    def may_be(row):
        has_pages = (not like.case.is_direct
                     or row.case.has_huge_buffers == like.case.has_huge_buffers)
        is_alike = flows(row) and bool(row.write) == writes and has_pages and row.case.is_direct
        return is_alike and row.is_served("device") and (
            not writes or in_flight(row.case) >= MIB)
    return fastest(row for row in rows if may_be(row))


def has_plateau(rows, top):
    return plateau(rows, top, flows, in_flight)


def device_read(rows):
    """The row that best shows the device's read rate."""
    def may_be(row):
        if not row.file or not flows(row) or not row.is_served("device"):
            return False
        case = row.case
        return in_flight(case) >= MIB if case.is_direct else case.pattern == "sequential"
    return fastest(row for row in rows if may_be(row))


def moves_bulk(row, by):
    """Whether all counted bytes were really moved."""
    case = row.case
    if case.is_memory:
        is_bulk = case.kernel != "chase" and case.kernel not in TOUCHES_PAGES
        return is_bulk and row.is_beyond_caches(case.working_set)
    if row.write:
        return case.op != "sync"
    if not row.file:
        return False
    in_place = ((case.engine == "mmap" and by in ("ram", "page-cache", "mixed"))
                or (case.engine == "load" and by == "ram"))
    return not (in_place and case.touch == "page")


class Held:
    """A throughput and the ceiling it is compared with."""

    def __init__(self, kind, base, share, is_firm):
        self.kind, self.base, self.share, self.is_firm = kind, base, share, is_firm

    def told(self):
        return {"kind": self.kind, "share": self.share["median"]}


def held(row, by, rows, rates):
    if by in ("ram", "page-cache"):
        kind, base = "memory", memory_bound(row, rows)
        is_firm = base is not None and base.verdict == "sound"
    elif by == "device" and not row.case.read_share:
        kind, base = "device", fastest_direct(rows, row)
        is_firm = (base is not None and base.verdict == "sound"
                   and has_plateau(rows, base))
    else:
        return None
    if base is None or base is row:
        return None
    share = ratio_of_any(rates, base.rates())
    return Held(kind, base, share, is_firm) if share else None


def bus(row, rows):
    """An estimate of the bytes on the memory bus."""
    factor = BUS.get(row.case.kernel)
    if factor is None or row.served_by != "ram":
        return None
    # Ordinary stores as fast as non-temporal ones deny that they move more bytes.
    for other in rows:
        if other.stands and is_of_non_temporal(other, row):
            share = ratio_of_any(row.rates(), other.rates())
            if share and share["median"] >= AS_FAST:
                return None
    rates = ("median", "low", "high", "min", "max", "mean")
    return {name: value * factor if name in rates and value is not None else value
            for name, value in row.throughput.items()}


def is_of_non_temporal(other, row):
    """Whether another row is the same loop with non-temporal stores."""
    def loop(case):
        return case.peer, case.isa, case.pages, case.working_set, case.threads, case.step
    return (other.case.is_memory and other.case.kernel == f"{row.case.kernel}-nt"
            and loop(other.case) == loop(row.case))


def bound(rows):
    """Compares all rows with their ceilings, based on the verdicts so far."""
    for row in rows:
        by = row.served_by
        if by is None or not moves_bulk(row, by):
            by = None
        memory = memory_read(rows, 1)
        row.ceiling = by and held(row, by, rows, row.rates())
        if by and row.memory and memory_bound(row, rows) is row:
            row.is_ceiling = True
        if by and memory:
            share = ratio_of_any(row.rates(), memory.rates())
            row.of_memory = share and share["median"]
        row.bus = bus(row, rows)
        loaded_by = row.loaded and row.loaded["served_by"]
        is_small = (row.file and row.case.engine == "load"
                    and not row.is_beyond_caches(row.case.size))
        if loaded_by and moves_bulk(row, loaded_by) and not is_small:
            row.loaded_ceiling = held(row, loaded_by, rows, row.loaded_rates())
            if memory:
                share = ratio_of_any(row.loaded_rates(), memory.rates())
                row.loaded_of_memory = share and share["median"]
    for row in rows:
        for one in (row.ceiling, row.loaded_ceiling):
            if one:
                one.base.is_ceiling = True
    found = [(row, above_ceiling(row), host_cache(row, rows), cache_size_unknown(row))
             for row in rows]
    for row, above, cache, unknown in found:
        row.find("AboveCeiling", above)
        row.find("HostCache", cache)
        row.find("CacheSizeUnknown", unknown)
    for row in rows:
        row.find("GeneratorBehind", open_loop.generator_behind(row, rows))
    # Only rows that are sound after all are compared.
    asleep = [idle.deep_idle(row, rows) for row in rows]
    for row, found in zip(rows, asleep):
        row.find("DeepIdle", found)


def cache_size_unknown(row):
    """Memory arrays on a machine with unknown cache sizes."""
    case = row.memory
    if not case or not row.stands or case.kernel in TOUCHES_PAGES or any(row.record.caches):
        return None
    return "doubt" if case.working_set >= 64 * MIB else None


def above_ceiling(row):
    told = [above(row, one) for one in (row.ceiling, row.loaded_ceiling) if one]
    return max((one for one in told if one), key=SEVERITIES.index, default=None)


def above(row, one):
    case, share = row.case, one.share
    if share["median"] <= 1.0:
        return None
    least = share["low"] or 0.0
    is_loose = (row.write and one.base.memory
                and MOTIONS.get(one.base.case.kernel) == "reads")
    if is_loose and least <= 4.0:
        return "note"
    if least <= 1.05:
        return "note"
    is_small = case.size is not None and not row.is_beyond_caches(case.size)
    if one.kind == "memory" and is_small:
        return "doubt"
    if one.kind == "device" and (not one.is_firm or row.write):
        return "doubt"
    return "void" if one.is_firm else "doubt"


def host_cache(row, rows):
    if not row.write or not row.stands or row.medium != "block" or not row.counted:
        return None
    is_so = faster_than_read(row, rows) or fast_sync(row) or fast_drain(row, rows)
    return "doubt" if is_so else None


def faster_than_read(row, rows):
    case = row.case
    if case.op != "write" or not case.is_direct or case.read_share:
        return False
    def is_alike(other):
        axes = ("cache", "block", "depth", "threads", "pattern")
        return (other.file and other.is_served("device")
                and other.case.has_huge_buffers == case.has_huge_buffers
                and other.case.sizes == case.sizes
                and all(other.case.axes[name] == case.axes[name] for name in axes))
    base = fastest(other for other in rows if is_alike(other))
    share = base and ratio_of(row.rates(), base.rates())
    return bool(share and share["low"] is not None and share["low"] > 2.0)


def fast_sync(row):
    case, told = row.case, row.writing
    if not case.claims_durable or case.op == "sync" or told["syncs_per_trial"] is None:
        return False
    flushes = told["flushes_per_trial"]
    if flushes is None or flushes < FLUSHES_LEAST * told["syncs_per_trial"]:
        return False
    p50 = told["sync_latency_ns_intervals"]["p50"]
    return bool(p50 and p50["high"] is not None and p50["high"] < 20_000)


def fast_drain(row, rows):
    case = row.case
    is_plain = case.op == "write" and case.fill == "random" and case.threads == 1
    if case.is_direct or not case.claims_durable or not is_plain or not case.every:
        return False
    limits = row.values(lambda one: one.trial["dirty_limit"])
    if not limits or case.every * case.block > 0.25 * min(limits):
        return False
    def drain(one):
        ns = max(span.get("sync_ns") or 0 for span in one.spans)
        return one.bytes * 1e9 / ns if ns and one.bytes else None
    least, read = median(row.values(drain)), device_read(rows)
    return bool(least is not None and read and least > 4.0 * read.rate)
