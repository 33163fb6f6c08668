"""The answers of a run: whether disk beats memory, the fastest way to write, the cost of touching a
page, and memory saturation and levels."""

import math

import numpy as np

import findings
import links
import topology
from ceilings import TOUCHES_PAGES, has_plateau, memory_read, reads_memory
from comparisons import DEVICE_INTEREST, ratio_of_any
from decisions import is_faster, lead, shown
from rows import OWN, fastest, grouped

RISE = math.log(1.25)
LEVEL_COST = 0.2
POINTS_LEAST = 2
LATENCY_BLOCK = 4096
# Threads with this share of the highest rate nearly saturate memory.
NEARLY = 0.9
# Loads from a cache take at most this share of the time of those from the last level.
CACHED_MOST = 0.5
LADDER_LEAST = 2 << 30


def answer(rows):
    memory = memory_read(rows, 1)
    files = [row for row in rows if row.file]
    if memory is None or not files:
        return None
    device = [row for row in files if row.is_served("device")]
    cached = fastest(row for row in files if row.is_served("page-cache") and not row.case.rate)
    one = [row for row in device if row.case.depth == 1 and row.case.threads == 1
           and row.case.has_block(LATENCY_BLOCK) and row.case.pattern == "random"]
    latencies = [(row.verdict != "sound", row.histogram.percentile("p50")) for row in one]
    latencies = [told for told in latencies if told[1] is not None]
    return {"memory": memory.rate, "page_cache": cached.rate if cached else None,
            "device": fastest_of(device, memory, rows),
            "device_latency_ns": min(latencies)[1] if latencies else None,
            "memory_latency_ns": memory_latency(rows)}


def contest(rows):
    """Ranks rows by their main rate."""
    return lead([(row, row.throughput, row.rates()) for row in rows
                 if row.throughput and row.has_own_rate])


def is_limited_in_part(row):
    """Whether a limit whose use nobody counted applies to one device of an array that does not move
    each byte once."""
    storage = row.storage
    for limit in topology.limits_of_any(storage, [one.trial for one in row.figures]):
        if any(findings.by_group(one, limit) is not None for one in row.figures):
            continue
        for layer in (storage.get("layers") or []):
            if limit["device"] in layer["nodes"]:
                moved = [topology.exact(topology.times(layer, way)) for way in ("reads", "writes")]
                if len(layer["nodes"]) > 1 and moved != [1, 1]:
                    return True
                break
    return False


def fastest_of(device, memory, rows):
    led = contest(device)
    if led is None:
        return None
    row, _, alike = led
    word, share = is_faster(row, memory)
    grave = ("doubt", "void")
    is_busy = "CpuBound" in row.findings
    # A thread that polls is busy however slow the device is.
    polls = row.case.submission in ("iopoll", "sqpoll")
    if row.findings.get("Throttled") in grave:
        bound = "limit"
    elif row.findings.get("OverheadBound") in grave:
        bound = "tool"
    elif is_busy and not polls:
        bound = "cpu"
    elif is_limited_in_part(row):
        bound = "limit of a part"
    elif links.bound(row):
        bound = "link"
    else:
        bound = "device" if not is_busy and has_plateau(rows, row) else "unknown"
    return {"id": row.id, "throughput": row.rate, "of_memory": share["median"],
            "low": share["low"], "high": share["high"], "is_faster": word, "alike": alike,
            "bound": bound}


def memory_latency(rows):
    chases = [(row.verdict != "sound", row.ns_per_op["median"]) for row in rows
              if row.memory and row.stands and row.case.kernel == "chase"
              and row.case.threads == 1 and row.case.beside in (None, "none")
              and row.is_beyond_caches(row.case.working_set)
              and row.ns_per_op]
    return min(chases)[1] if chases else None


def saturations(rows):
    def key(row):
        case = row.memory
        if not case or case.kernel == "chase" or case.kernel in TOUCHES_PAGES:
            return None
        if not row.is_beyond_caches(case.working_set):
            return None
        return case.peer, case.kernel, case.isa, case.pages, case.working_set

    told = []
    reads = fastest(row for row in rows if reads_memory(row))
    for group in grouped((row for row in rows if row.stands), key):
        by_threads = {}
        for row in group:
            by_threads.setdefault(row.case.threads, row)
        group = [row for _, row in sorted(by_threads.items())]
        if len(group) < 2:
            continue
        enough = next((row.case.threads for place, row in enumerate(group[:-1])
                       if gives_more(row, group[place + 1:]) == "no"), None)
        last = gives_more(group[-2], group[-1:])
        word = "yes" if enough else "no" if last == "yes" else "undecided"
        case = group[0].case
        best = fastest(group)
        share = reads and not reads_memory(best) and ratio_of_any(best.rates(), reads.rates())
        told.append({"nearly": next(row.case.threads for row in group
                                    if row.rate >= NEARLY * best.rate),
                     "steps": [{"threads": row.case.threads, "throughput": row.rate}
                               for row in group],
                     "of_reads": share["median"] if share else None,
                     "peer": case.peer, "kernel": case.kernel, "isa": case.isa,
                     "pages": case.pages, "working_set": case.working_set,
                     "decision": word, "threads": enough,
                     "most_threads": group[-1].case.threads,
                     "highest": best.rate})
    return told


def gives_more(row, more):
    """Whether any of `more` exceeds the rate by the effect of interest."""
    asked = [is_faster(other, row, interest=DEVICE_INTEREST) for other in more]
    words = [one[0] if one else "undecided" for one in asked]
    return next((word for word in ("yes", "undecided") if word in words), "no")


# The levels of memory.


def all_levels(rows):
    def key(row):
        case = row.memory
        is_chase = (case and case.kernel == "chase" and case.threads == 1
                    and case.beside in (None, "none"))
        return (case.peer, case.isa, case.pages) if is_chase else None

    told = []
    for group in grouped((row for row in rows if row.stands), key):
        points = {}
        for row in group:
            if row.ns_per_op:
                points.setdefault(row.case.working_set, row.ns_per_op["median"])
        points = sorted(points.items())
        if len(points) >= 2 * POINTS_LEAST:
            found = levels(points)
            name_caches(found, group[0].host.get("caches") or [])
            told.append({"peer": group[0].case.peer, "pages": group[0].case.pages,
                         "levels": found})
    return told


def last_cache_below(rows):
    """An upper bound for the last cache, from chases far beyond it; None if they show none."""
    ends = [(told["pages"] == "base", told["levels"][-1]["from"]) for told in all_levels(rows)
            if told["peer"] == OWN and len(told["levels"]) > 1
            and told["levels"][-1]["to"] >= LADDER_LEAST]
    return min(ends)[1] if ends else None


def levels(points):
    logs = np.log([ns for _, ns in points])
    flatten_spikes(logs)
    ends = cheapest_cuts(logs)
    while True:
        centres = [np.median(logs[a:b]) for a, b in zip(ends, ends[1:])]
        rises = np.diff(centres)
        if not len(rises) or rises.min() >= RISE:
            break
        del ends[int(rises.argmin()) + 1]
    return [level(points[a:b]) for a, b in zip(ends, ends[1:])]


def flatten_spikes(logs):
    """Moves single outliers to the nearer of their two neighbors."""
    for sign in (1, -1):
        for _ in range(1, len(logs) - 1):
            heights = [sign * logs[i] - max(sign * logs[i - 1], sign * logs[i + 1])
                       for i in range(1, len(logs) - 1)]
            best = max(heights)
            if best < RISE:
                break
            place = len(heights) - 1 - heights[::-1].index(best)
            logs[place + 1] -= sign * best


def cheapest_cuts(logs):
    best = [(0.0, 0)]
    for end in range(1, len(logs) + 1):
        starts = [s for s in range(0, max(0, end - POINTS_LEAST) + 1)
                  if s == 0 or s >= POINTS_LEAST]
        best.append(min(((best[s][0] + LEVEL_COST
                          + float(np.abs(logs[s:end] - np.median(logs[s:end])).sum()), s)
                         for s in starts), key=lambda one: one[0]))
    ends = [len(logs)]
    while ends[-1] > 0:
        ends.append(best[ends[-1]][1])
    return ends[::-1]


def level(points):
    ns = [ns for _, ns in points]
    return {"from": points[0][0], "to": points[-1][0], "ns": float(np.median(ns)),
            "least_ns": min(ns), "greatest_ns": max(ns), "cache_level": None,
            "cache_bytes": None}


def name_caches(found, caches):
    knees = found[:-1]
    for number, size in enumerate((size for size in caches if size > 0), 1):
        if not knees:
            return
        def off(one, size=size):
            return abs(math.log(size / one["to"]))
        near = min(knees, key=off)
        if off(near) > math.log(2) or near["greatest_ns"] > CACHED_MOST * found[-1]["ns"]:
            continue
        known = near["cache_bytes"]
        if known is None or off(near) < abs(math.log(known / near["to"])):
            near["cache_level"], near["cache_bytes"] = number, size


# Is disk faster than memory?


class Count:
    """The rows that count data of one size."""

    def __init__(self, rows, size):
        self.all, self.size = rows, size
        self.rows = [row for row in rows if counts(row) and row.case.size == size]
        self.in_memory = {}
        for row in rows:
            told = self.loaded(row)
            if told:
                threads = row.case.threads
                known = self.in_memory.get(threads)
                if known is None or told[1]["median"] > known[1]["median"]:
                    self.in_memory[threads] = told
        self.in_memory = dict(sorted(self.in_memory.items()))

    def loaded(self, row):
        """A row that counts in memory, with its figure and its rates."""
        if counts(row) and row.case.engine == "load" and row.case.size == self.size:
            return row.loaded and (row, row.loaded["throughput"], row.loaded_rates())
        case = row.memory
        if (case and case.kernel == "count" and row.is_own and row.stands
                and row.is_beyond_caches(case.working_set)):
            return row, row.throughput, row.rates()
        return None

    def told(self):
        threads = sorted({row.case.threads for row in self.all})
        reads = [memory_read(self.all, count) for count in threads]
        cached = fastest(row for row in self.rows
                         if row.is_served("page-cache") and row.case.engine != "load")
        device = fastest(row for row in self.rows if row.is_served("device"))
        word = self.disk_is_faster(device) if device else "undecided"
        device = device and self.figure(device)
        claims = [self.claim(cache) for cache in ("cold", "warm")]
        most = max((row.case.threads for row in self.rows), default=1)
        held = self.all[0].caches_hold(self.size, most)
        return {"size": self.size, "fits_caches": held == 1, "caches_hold": held,
                "memory_reads": [self.figure(row) for row in reads if row],
                "in_memory": [self.figure_of(*one) for one in self.in_memory.values()],
                "page_cache": cached and self.figure(cached), "device": device,
                "disk_is_faster": word,
                "claims": [claim for claim in claims if claim]}

    def figure(self, row):
        return self.figure_of(row, row.throughput, row.rates())

    def figure_of(self, row, throughput, rates):
        threads = row.case.threads
        read, count = memory_read(self.all, threads), self.in_memory.get(threads)
        return {"id": row.id, "threads": threads, "throughput": throughput,
                "of_read": ratio_of_any(rates, read.rates()) if read else None,
                "of_count": ratio_of_any(rates, count[2]) if count else None}

    def claim(self, cache):
        there = [row for row in self.rows if row.case.cache == cache and row.case.isa == "auto"]
        def is_bare(row):
            case = row.case
            return case.engine == "mmap" and case.advice == "none" and case.threads == 1
        mmap = fastest(row for row in there if is_bare(row))
        uring = self.deepest_uring()
        asked = mmap and uring and is_faster(uring, mmap)
        if not asked:
            return None
        fair = []
        for row in there:
            if row.case.engine in ("mmap", "load") and not is_bare(row):
                word, of_row = is_faster(uring, row)
                fair.append({"figure": self.figure(row), "ratio": shown(of_row), "holds": word})
        return {"cache": cache, "mmap": self.figure(mmap), "uring": self.figure(uring),
                "ratio": shown(asked[1]), "holds": asked[0], "fair": fair}

    def disk_is_faster(self, device):
        count = self.in_memory.get(device.case.threads)
        if count:
            asked = is_faster(device, count[0], device.rates(), count[2])
        else:
            read = memory_read(self.all, device.case.threads)
            asked = read and is_faster(device, read)
        return asked[0] if asked else "undecided"

    def deepest_uring(self):
        direct = [row for row in self.rows if row.is_served("device")
                  and row.case.engine == "uring" and row.case.is_direct]
        deepest = max((row.case.depth for row in direct), default=None)
        return fastest(row for row in direct if row.case.depth == deepest)


def counts(row):
    return row.file and row.case.touch == "count" and row.is_own and row.has_own_rate


def counting(rows):
    sizes = sorted({row.case.size for row in rows if counts(row)})
    told = [Count(rows, size).told() for size in sizes]
    return [one for one in told if one["in_memory"] or one["claims"]]


# Which way to write is fastest, and what it costs to touch a page.


def steps_by_pages(row):
    case, page = row.case, row.host["page"]
    return (case.block == 1 and case.pattern == "strided" and case.stride == page
            and 1 <= case.ops <= -(-case.size // page))


def writes_pages(row):
    return bool(row.write and row.case.op == "write" and steps_by_pages(row))


def reads_pages(row):
    case = row.file
    return bool(case and (steps_by_pages(row) or (
        case.engine == "mmap" and case.block == row.host["page"] and case.touch == "page")))


def writing(rows):
    def of(op):
        return [row for row in rows if row.is_own and row.role == "asked" and row.write
                and row.case.op == op and not writes_pages(row)]

    asked = of("write") or of("copy")
    if not asked:
        return None
    standing = [row for row in asked if row.has_own_rate and row.writing]
    led = {name: fastest_writer(standing, name) for name in ("acknowledged", "durable")}
    best = {name: one and one[0] for name, one in led.items()}
    cost = None
    if best["acknowledged"] and best["durable"]:
        acknowledged = best["acknowledged"]
        row = acknowledged if acknowledged.writing["durable"] else best["durable"]
        cost = ratio_of_any(row.durable_rates(), acknowledged.acknowledged_rates())
    told = {name: one and {"id": one[0].id, "rate": one[0].writing[name],
                           "verdict": one[0].verdict, "is_fastest": one[1], "alike": one[2]}
            for name, one in led.items()}
    return {**told, "cost": cost}


def fastest_writer(rows, name):
    """The fastest row; compressible data only competes if there is nothing else."""
    rows = [row for row in rows if row.writing[name]]
    plain = [row for row in rows if row.case.fill == "random"]
    return lead([(row, row.writing[name], row.acknowledged_rates() if name == "acknowledged"
                  else row.durable_rates()) for row in plain or rows])


def touching(rows):
    told = []
    for row in rows:
        if not (row.is_own and row.has_own_rate and (reads_pages(row) or writes_pages(row))):
            continue
        phase = "read" if row.file else "write"
        memory = nearest_memory(rows, row, phase)
        if memory is None:
            continue
        def of(one):
            return one.by_round(lambda figures: figures.ops_until_end)
        share = ratio_of_any(of(memory), of(row))
        if share:
            told.append({"phase": phase, "file": row.id, "memory": memory.id, "ratio": share})
    return told


def nearest_memory(rows, row, phase):
    kernel = "touch-pages" if phase == "write" else "read-pages"
    there = [one for one in rows if one.memory and one.case.kernel == kernel
             and one.case.step == row.host["page"] and one.is_own and one.stands]
    return min(there, default=None, key=lambda one: (
        abs(one.case.threads - row.case.threads), one.case.pages == "huge",
        abs(one.case.working_set - row.case.size)))
