"""The source or destination of the bytes, from the counters."""

import topology

NOISE = 0.01
WARM_LEAST = 0.999


def label_of(share):
    if share >= 1 - NOISE:
        return "page-cache"
    return "device" if share <= NOISE else "mixed"


def cached_share(residency):
    """The cached share of a file; None if unknown."""
    if residency is None:
        return None
    return residency["cached"] / residency["pages"] if residency["pages"] else 0.0


def fetched_bytes(row, one):
    """What devices read for the worker or, if unknown, for anyone."""
    fetched = one.trial["task_read_bytes"]
    return topology.read_once(row.storage, one.trial) if fetched is None else fetched


def hit_share_of(row, one):
    """The share of a trial's bytes that the page cache served, at least and at most: what no device
    read and no hole explains."""
    fetched = fetched_bytes(row, one)
    if fetched is None:
        return None
    least = min(max(1 - fetched / one.bytes - holes_at_most(row, one), 0.0), 1.0)
    before = cached_share(one.trial["residency_before"])
    if row.case.is_direct or before is None:
        return least, least
    if row.case.pattern != "random":
        if not is_partly_holes(row):
            return least, least
        # Fewer holes may have been read than there can have been.
        most = min(1 - fetched / one.bytes, before * row.case.size / one.bytes)
        return least, min(max(most, least), 1.0)
    # Random readahead can hide hits; what was not cached before had to be read once.
    most = 1 - (1 - before) * touched_bytes(row, one) / one.bytes
    return least, min(max(most, least), 1.0)


def touched_bytes(row, one):
    """The bytes of different blocks: a thread reads each of its part before it reads one again."""
    case = row.case
    limit = case.ops * case.mean_block() if case.ops else case.size
    part = min(limit, case.size) / case.threads / row.parts
    return sum(min(part, span["bytes"]) for span in one.spans)


def hit_with_loops(row, one):
    """The same, where the page cache outside a loop device is one as well."""
    shares, below = hit_share_of(row, one), one.trial["disk_read_bytes"]
    if shares is None or below is None:
        return shares
    below = min(max(1 - below / one.bytes, 0.0), 1.0)
    return max(shares[0], below), max(shares[1], below)


def shared_share(row):
    """The share of the copied bytes that the target only shares with its source."""
    if not row.write or row.case.op != "copy":
        return None

    def target(one):
        return min(one.written_bytes, row.case.size)

    def shared(one):
        told = one.trial["shared_bytes"]
        return None if told is None else min(told, target(one))

    return row.total(shared, target)


def unreached_share(row):
    """The share of the written bytes that had not reached a device at the end, over all trials that
    report it."""
    told = [(one.written_bytes, topology.written_at_most(row.storage, one.trial)) for one in row.figures]
    told = [(app, written) for app, written in told if written is not None]
    app = sum(app for app, _ in told)
    if not app:
        return None
    share = sum(max(0, app - dev) for app, dev in told) / app
    # Data that a journal holds too is counted twice, some of it later.
    once = topology.exact(topology.multiples(row.storage, "writes"))
    is_once = row.case.claims_durable or topology.own_writes_most(row.storage) == once
    return share if (once is not None and is_once) or share >= 1 - NOISE else None


def served_by(row):
    """The label, and the hit share if there is one."""
    label, shares = as_on_disks(row)
    return ("mixed" if label == "device" and is_partly_in_memory(row) else label), shares


def is_partly_in_memory(row):
    """Whether what crossed the block layer may have come from memory, or gone there alone."""
    if not row.storage:
        return False
    has_data = topology.has_data_in_memory(row.storage)
    if not row.write:
        return has_data
    if row.case.read_share and has_data:
        return True
    lost = topology.lost_parts(row.storage)
    return any(row.case.claims_durable or part["holds"] == "data" for part in lost)


def as_on_disks(row):
    """The same, if all that is below the block layer is on disks."""
    case = row.case
    if not row.counted:
        return None, None
    if case.is_memory:
        return None, None
    if case.is_null:
        return "no-io", None
    if row.medium == "ram":
        return "ram", None
    if row.medium != "block":
        return unless_cached(row) if row.file else ("unverified", None)
    if case.op == "sync":
        return flushed(row), None
    if case.is_write:
        return taken_by(row), None
    return read_from(row)


def flushed(row):
    told = row.values(lambda one: one.trial["device_flushes"])
    if not told:
        return "unverified"
    return "device" if max(told) > 0 else "no-io"


def taken_by(row):
    share = unreached_share(row)
    is_mixed = bool(row.case.read_share)
    if share is None and not is_mixed and is_clean(row):
        return "device"
    if share is None or is_mixed and any(fetched_bytes(row, one) is None for one in row.figures):
        return "unverified"
    shared = shared_share(row)
    if shared is not None and shared >= 1 - NOISE:
        return "no-io"
    label = label_of(share)
    # The counters include sync_file_range, the acknowledged rate does not.
    is_later = row.case.sync == "sync-file-range" and not row.case.is_direct
    return "mixed" if label == "device" and is_later else label


def is_clean(row):
    """Whether all that was synced beside actors, before a block was written again, left no dirty
    page, so that it was written."""
    case = row.case

    def of_trial(one):
        seen = one.trial["residency_after"]
        dirty = seen and seen["dirty"]
        return bool(one.trial.beside) and dirty is not None \
            and dirty * row.host["page"] <= NOISE * min(one.bytes, case.size)
    is_synced = case.sync in ("fdatasync", "fsync", "msync") and not case.is_direct
    is_once = 1 <= (case.every or 0) <= case.blocks // case.threads
    return is_synced and is_once and bool(row.figures) and all(map(of_trial, row.figures))


def hole_share(fixture):
    layout = fixture and fixture.get("layout")
    length = fixture and read_of(fixture)[1]
    return layout["unwritten"] / length if layout and length else 0.0


def read_of(fixture):
    """Where what is read of a file begins, and its size."""
    part = fixture.get("part") or {"offset": 0, "length": fixture["size"]}
    return part["offset"], part["length"]


def called_share(row):
    """The share of the bytes that read calls returned; None if they are not counted."""
    if row.case.engine not in ("read", "pread", "buffered"):
        return None
    return row.total(lambda one: one.trial["task_rchar_bytes"], lambda one: one.bytes)


def read_from(row):
    called = called_share(row)
    if called is not None and called <= NOISE:
        return "no-io", None
    shares = [(hit_with_loops(row, one), one.bytes) for one in row.figures]
    shares = [(share, count) for share, count in shares if share is not None]
    app = sum(count for _, count in shares)
    if not app:
        return unless_cached(row)
    names = ("task_read_bytes", "device_read_bytes")
    if not any(one.trial[name] for one in row.figures for name in names):
        label = without_reads(row)
        return label, (1.0, 1.0) if label == "page-cache" else None
    least, most = (sum(share[end] * count for share, count in shares) / app for end in (0, 1))
    holes = 0.0
    if is_partly_holes(row):
        fetched = row.total(lambda one: fetched_most(row, one), lambda one: one.bytes)
        holes = 1 - least - fetched if fetched is not None else 0.0
    if least >= 1 - NOISE:
        return "page-cache", (least, most)
    if holes >= 1 - NOISE:
        return "no-io", (least, most)
    return ("device" if most + holes <= NOISE else "mixed"), (least, most)


def fetched_most(row, one):
    fetched = fetched_bytes(row, one)
    return None if fetched is None else min(fetched, one.bytes)


def is_partly_holes(row):
    """Whether holes may have served some of the bytes. Warm ones are pages like others."""
    return row.case.cache != "warm" and hole_share(row.fixture) > NOISE


def holes_at_most(row, one):
    """The share of a trial's bytes that holes explain at most."""
    if not is_partly_holes(row):
        return 0.0
    before = None if row.case.is_direct else cached_share(one.trial["residency_before"])
    uncached = 1.0 - (before or 0.0)
    if row.case.pattern == "zipf":
        return uncached
    part = max(1, row.case.size // max(1, row.case.threads * row.parts))
    holes = min(hole_share(row.fixture) * row.case.size, part)
    most = 0
    for span in one.spans:
        passes, rest = divmod(span["bytes"], part)
        most += passes * holes + min(rest, holes)
    return min(uncached, most / one.bytes)


def unless_cached(row):
    """The page cache, if it held the file before and after each trial."""
    told = [cached_share(one.trial[name]) for one in row.figures
            for name in ("residency_before", "residency_after")]
    is_whole = all(share is not None and share >= WARM_LEAST for share in told)
    if row.case.cache in ("warm", "as-is") and told and is_whole:
        return "page-cache", (1.0, 1.0)
    return "unverified", None


def without_reads(row):
    """The source of bytes that no device read."""
    if row.case.is_direct:
        return "page-cache" if bypasses(row.storage) is False else "no-io"
    shares = row.values(lambda one: cached_share(one.trial["residency_before"]))
    if not shares:
        return "unverified"
    return "no-io" if max(shares) <= NOISE else "page-cache"


def bypasses(storage):
    """Whether O_DIRECT left no page of a canary in the page cache; None if unknown."""
    direct = storage.get("direct") if storage else None
    return direct["accepted"].get("bypasses") if isinstance(direct, dict) else None
