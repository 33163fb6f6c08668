"""The findings on a single case: one function for each finding of docs/method, which returns its
severity or nothing."""

import buffers
import comparisons
import courses
import links
import open_loop
import placement
import served
import shared
import topology
import writing
from intervals import median
from rounds import quota_parts, share_of_others

MIB = 1 << 20
NOISE = served.NOISE


def above(share, note, doubt):
    """Note above one limit, doubt above the other."""
    if share is None or share <= note:
        return None
    return "doubt" if share > doubt else "note"


def counter(name):
    return lambda one: one.trial[name]


def moved(one):
    return one.bytes


# The page cache.


def cache_leak(row):
    return copy_leak(row) or read_leak(row)


def copy_leak(row):
    case = row.write
    if not case or case.op != "copy" or case.cache != "cold":
        return None
    if not row.source or row.source["medium"] != "block":
        return None
    share = row.total(counter("task_read_bytes"), moved)
    if share is None or 1 - share <= NOISE:
        return None
    is_shared = case.engine == "copy-file-range" and share < NOISE
    return None if is_shared else "void"


def read_leak(row):
    if not row.file or row.case.cache != "cold":
        return None
    if leaks(row):
        return "void"
    if row.case.pattern != "random" or row.served_by != "device":
        return None
    share = row.total(counter("device_reads"), lambda one: one.ops)
    return "doubt" if share is not None and share < 0.9 else None


def leaks(row):
    if row.served_by not in ("page-cache", "mixed") or row.hit_share is None:
        return False
    # What a loop device served from the page cache outside is no leak of the file system's.
    shares = [(served.hit_share_of(row, one), one.bytes) for one in row.figures]
    shares = [(share[1], count) for share, count in shares if share is not None]
    app = sum(count for _, count in shares)
    return app > 0 and sum(most * count for most, count in shares) / app > NOISE


def crosses_devices(row):
    """Whether bytes crossed the block layer below the file system."""
    if row.served_by in ("device", "mixed"):
        return True
    if row.served_by != "page-cache" or not topology.is_cached_loop(row.storage):
        return False
    way = "write" if row.write else "read"

    def moved_by_loop(one):
        below = one.trial[f"disk_{way}_bytes"]
        return None if below is None else one.trial[f"device_{way}_bytes"]

    share = row.total(moved_by_loop, (lambda one: one.written_bytes) if row.write else moved)
    return share is not None and share > NOISE


def cross_node(row):
    return "note" if crosses_devices(row) and placement.is_far_from_disks(row) else None


def cached(row, name):
    def part(key):
        return lambda one: one.trial[name] and one.trial[name][key]
    return row.total(part("cached"), part("pages"))


def not_warm(row):
    case = row.case
    if row.medium == "ram" or case.cache != "warm":
        return None
    if not row.file and not (row.write and case.op == "write"):
        return None
    names = ("residency_before", "residency_after") if row.file else ("residency_before",)
    shares = [cached(row, name) for name in names]
    is_short = any(share is not None and share < 0.999 for share in shares)
    fetched = row.total(counter("task_read_bytes"), moved)
    if row.write:
        return "void" if is_short else None
    if fetched is not None and fetched > NOISE:
        return "void"
    if not is_short:
        return None
    return "note" if fetched is not None and row.medium == "block" else "void"


def direct_ignored(row):
    case = row.case
    if case.cache != "direct" or not (row.file or row.write):
        return None
    if row.storage and row.medium != "ram":
        if served.bypasses(row.storage) is False:
            return "void"
        if grows(row) and not is_summed_up_by_btrfs(row) and not is_known_to_be_direct(row):
            return "void"
        if row.file and leaks(row):
            return "void"
        unread = row.total(unread_of(row), lambda one: one.read_bytes) if case.read_share else None
        if row.medium == "block" and (unread or 0) > NOISE:
            return "void"
        may_keep = not case.claims_durable and not topology.is_cached_loop(row.storage)
        if row.write and may_keep and row.served_by in ("page-cache", "mixed"):
            if (served.unreached_share(row) or 0) > NOISE:
                return "void"
    return copied_by_btrfs(row)


def file_in_use(row):
    return "note" if is_known_to_be_direct(row) and grows(row) else None


def is_known_to_be_direct(row):
    """Whether direct reads of a user's own file, which others may use, went past the page cache."""
    if not row.file or row.case.cache != "direct" or not row.fixture or not row.storage:
        return False
    layout = row.fixture.get("layout")
    return (row.fixture["seed"] is None and layout is not None and layout["encoded"] == 0
            and served.bypasses(row.storage) is True
            and all(one.trial["task_read_bytes"] is not None for one in row.figures)
            and row.hit_share is not None and row.hit_share <= NOISE)


def unread_of(row):
    """The bytes that a mixed case read and no device did."""
    def unread(one):
        fetched = served.fetched_bytes(row, one)
        return None if fetched is None else max(0, one.read_bytes - fetched)
    return unread


def grows(row):
    """Whether pages of the file appeared in the page cache."""
    def grown(one):
        before, after = one.trial["residency_before"], one.trial["residency_after"]
        if before is None or after is None:
            return None
        return max(0, after["cached"] - before["cached"]) * row.host["page"]
    share = row.total(grown, moved)
    return share is not None and share > NOISE


def copied_by_btrfs(row):
    if not is_summed_up_by_btrfs(row):
        return None
    words = row.host["os"].split()
    release = words[1].split(".")[:2] if len(words) > 1 else []
    is_older = (len(release) == 2 and all(part.isdigit() for part in release)
                and tuple(map(int, release)) < (6, 14))
    return "doubt" if grows(row) or not is_older else None


def is_summed_up_by_btrfs(row):
    storage = row.storage
    if not row.write or row.case.op == "sync" or not storage or row.case.cache != "direct":
        return False
    if storage["file_system"] != "btrfs":
        return False
    options = storage["mount_options"].split(",")
    return "nodatasum" not in options and "nodatacow" not in options


def fetched_ahead(row):
    """Two windows of readahead for each thread."""
    window = topology.read_ahead_most(row.storage)
    return None if window is None else 2 * window * int(row.case.threads)


def cache_kept(row):
    """Pages that stayed, although each call was to leave none."""
    case = row.case
    if case.cache != "dontcache" or not (row.file or row.write):
        return None

    ahead = 0 if row.write else fetched_ahead(row)
    if ahead is None:
        return None

    def kept(one):
        before, after = one.trial["residency_before"], one.trial["residency_after"]
        if before is None or after is None:
            return None
        waiting = after["dirty"]
        if waiting is None and row.write and case.sync == "none":
            return None
        stayed = max(0, after["cached"] - before["cached"] - (waiting or 0))
        return max(0, stayed * row.host["page"] - ahead)
    share = row.total(kept, lambda one: min(one.bytes, case.size))
    if share is None or share <= NOISE:
        return None
    return "void" if share > 0.5 else "doubt"


def partly_cached(row):
    is_so = row.file and row.case.cache == "as-is" and row.served_by == "mixed"
    # Holes are not cached.
    is_cached = row.hit_share_most is not None and row.hit_share_most > NOISE
    is_asked = row.case.pattern == "zipf" and row.memory_limit is not None
    if is_so and row.hit_share is not None and is_asked:
        return "note"
    return "doubt" if is_so and is_cached else None


def cache_unseen(row):
    is_claim = row.file or (row.write and row.case.cache != "as-is")
    if not is_claim or row.medium != "block":
        return None
    names = ("residency_before", "residency_after")
    is_seen = any(trial[name] is not None for trial in row.counted for name in names)
    return None if is_seen else "note"


def over_read(row):
    if not row.file or row.served_by not in ("device", "mixed"):
        return None
    page = max(1, row.host["page"])
    of_operation = row.case.mean_block(page)
    share = row.total(counter("task_read_bytes"),
                      lambda one: max(int(of_operation * one.ops), one.bytes))
    return "note" if share is not None and share > 1.05 else None


# Sources of the bytes, and foreign I/O.


def no_io(row):
    shared = served.shared_share(row)
    if shared is not None and shared > NOISE:
        return "void"
    if not row.file:
        return None
    called = served.called_share(row)
    if called is not None and 1 - called > NOISE:
        return "void"
    holes = served.hole_share(row.fixture)
    if holes > 0:
        return "note" if holes <= NOISE or row.case.cache == "warm" else "void"
    return "void" if row.served_by == "no-io" else None


def maybe_unmapped(row):
    """Zeros of a raw device that may keep nothing where nothing was written."""
    if not row.file:
        return None
    claims = row.case.cache in ("direct", "cold", "dontcache")
    if not claims and row.served_by not in ("device", "mixed"):
        return None
    if row.storage is None or row.storage["file_system"] != "none (block device)":
        return None
    seen = (row.fixture or {}).get("zeros")
    if not seen or not seen["zeros"] or not seen["looked"]:
        return None
    virtual = any(disk["is_virtual"] for disk in topology.disks(row.storage["devices"]))
    if row.storage.get("discards") is not True and not virtual:
        return None
    return above(seen["zeros"] / seen["looked"], 0, NOISE)


def claim(row):
    """The severity of a false claim about the bytes."""
    if row.write and row.case.claims_durable:
        return "doubt"
    if row.file or row.write:
        return "doubt" if row.case.cache in ("direct", "cold") else "note"
    return None


def ram(row):
    is_partly = served.is_partly_in_memory(row) and topology.has_data_in_memory(row.storage)
    if is_partly and crosses_devices(row):
        return claim(row)
    if row.served_by != "ram":
        return None
    if row.write and row.case.op == "copy" and row.source["medium"] == "block":
        # The cache state is that of the source, on a device.
        return "doubt" if row.case.claims_durable or row.case.cache == "direct" else "note"
    return claim(row)


def unverified(row):
    return claim(row) if row.served_by == "unverified" else None


def loop_cached(row):
    if claim(row) != "doubt" or not crosses_devices(row):
        return None
    storages = [] if is_stored_below(row) else [row.storage]
    if row.write and row.case.op == "copy":
        storages.append(row.source)
    if not any(map(topology.is_cached_loop, storages)):
        return None
    outside = taken_outside(row)
    return "void" if outside is not None and outside > NOISE else "doubt"


def is_stored_below(row):
    """Whether the disk below a loop device has what was to be durable."""
    case = row.write
    if not case or not case.claims_durable or case.read_share or case.cache == "direct":
        return False
    if topology.below_loops(row.storage) is None:
        return False
    disks = topology.disks(row.storage["devices"])
    is_cached = any(one.get("write_cache") != "write through" for one in disks)

    def is_stored(one):
        told = [one.trial[name] for name in ("disk_write_bytes", "disk_flushes", "device_flushes")]
        if None in told:
            return False
        wrote, flushes, of_loop = told
        is_flushed = flushes >= writing.FLUSHES_LEAST * of_loop or not is_cached
        return wrote >= 0.99 * writing.durable_bytes(one) and of_loop > 0 and is_flushed

    return all(map(is_stored, row.figures))


def taken_outside(row):
    """The share of the bytes that went no further than the page cache outside a loop device."""
    if row.write and (row.case.op != "write" or row.case.claims_durable):
        return None
    way, amount = ("write", lambda one: one.written_bytes) if row.write else ("read", moved)

    def cached(one):
        below = one.trial[f"disk_{way}_bytes"]
        return None if below is None else max(0, amount(one) - below)

    return row.total(cached, amount)


def digest_mismatch(row):
    return "void" if row.digest_verified() is False else None


def bytes_unchecked(row):
    is_untold = any(one.digest is None for one in row.figures)
    return "note" if is_untold and not row.is_own else None


def foreign(row):
    return None if row.shares_device else traffic_of_others(row)


def shared_device(row):
    return "note" if row.shares_device and traffic_of_others(row) else None


def traffic_of_others(row):
    return foreign_reads(row) or foreign_writes(row) or crossing(row) or beside_names(row) \
        or below_loops(row)


def beside_names(row):
    """Others that read beside work on names, held against what the device moved for it."""
    if not row.case.call or row.served_by not in ("device", "mixed"):
        return None

    def share(one):
        others = topology.read_by_others(row.storage, one.trial)
        read, written = one.trial["task_read_bytes"], one.trial["device_write_bytes"]
        if None in (others, read, written):
            return None
        return others / max(1, read + written) if others > 16 * MIB else 0.0

    return sharing(row, share, "doubt")


def below_loops(row):
    """Others that use the disk below a loop device."""
    if not (row.file or row.write) or row.served_by not in ("device", "mixed"):
        return None
    if row.case.op == "copy" or topology.below_loops(row.storage) is None:
        return None
    is_cached = topology.is_cached_loop(row.storage)
    known = [one.get("read_ahead") or 0 for one in topology.disks(row.storage["devices"])]
    ahead = 4 * max(known + [MIB])
    most = topology.disk_writes_most(row.storage["devices"])

    def share(one, beyond):
        return beyond / max(1, one.bytes) if beyond > 16 * MIB else 0.0

    def read(one):
        names = ("disk_read_bytes", "device_read_bytes", "device_reads", "device_writes")
        below, through, reads, writes = (one.trial[name] for name in names)
        if None in (below, through) or (is_cached and None in (reads, writes)):
            return None
        around = reads * ahead + writes * row.host["page"] if is_cached else 0
        return share(one, below - through - around)

    def written(one):
        names = ("disk_write_bytes", "device_write_bytes", "device_flushes", "dirty_before")
        below, through, flushes, dirty = (one.trial[name] for name in names)
        if None in (below, through, flushes, most) or (is_cached and dirty is None):
            return None
        own = 1.25 * through + 256 * 1024 * flushes + (dirty if is_cached else 0)
        return share(one, below - most * own)

    return sharing(row, read, "doubt") or sharing(row, written, "doubt")


def sharing(row, share_of, most):
    shares = row.values(share_of)
    if not any(share > 0.05 for share in shares):
        return None
    middle = median(shares)
    if middle > 0.20:
        return most
    return "doubt" if middle > 0.05 else "note"


def foreign_reads(row):
    if not row.file or row.served_by != "device":
        return None
    return sharing(row, lambda one: share_of_others(row, one.trial), "void")


def foreign_writes(row):
    case = row.write
    if not case or row.served_by not in ("device", "mixed"):
        return None
    page = max(1, row.host["page"])
    most = topology.own_writes_most(row.storage)
    if most is None:
        return None

    def beyond(one):
        written = one.trial["device_write_bytes"]
        if written is None:
            return None
        is_each = case.sync == "dsync" or topology.syncs_each_write(row.storage, case)
        calls = one.written_ops if is_each else writing.syncs(one)
        pages = case.mean_block(page) * one.written_ops
        data = 0 if case.op == "sync" else max(pages, one.written_bytes)
        written -= 2 * (one.trial["unsure_written"] or 0)
        return written - most * (1.25 * data + 256 * 1024 * calls + 16 * MIB)

    told = row.values(beyond)
    if not any(value > 0 for value in told):
        return None
    return "doubt" if median(told) > 0 else "note"


def crossing(row):
    if row.served_by not in ("device", "mixed"):
        return None
    if not row.file and (not row.write or row.case.op == "copy"):
        return None
    most = topology.own_writes_most(row.storage)

    def share(one):
        if row.file:
            device, task = one.trial["device_write_bytes"], one.trial["task_write_bytes"]
            if None in (device, task, most):
                return None
            others = max(0, device - task * most)
        else:
            others = topology.read_by_others(row.storage, one.trial)
        if others is None:
            return None
        return others / max(1, one.bytes) if others > 16 * MIB else 0.0

    return sharing(row, share, "doubt")


# Writing.


def not_durable(row):
    if not row.write:
        return None
    word, _ = row.durability
    if word in ("not claimed", "holds", "uncounted", "cache unknown", "through", "may be through"):
        return None
    if word in ("untold", "dirty"):
        return "void"
    if word in ("barriers off", "dropped"):
        return "doubt" if row.case.op == "sync" else "void"
    if word == "unflushed":
        return "doubt" if row.case.op == "sync" else "void"
    return "doubt"


def counters_unseen(row):
    if row.medium != "block" or not (row.file or row.write):
        return None
    word = row.durability[0] if row.write else None
    if word == "uncounted" and row.case.beside:
        return "note"
    if word in ("uncounted", "cache unknown", "may be through"):
        return "doubt"
    is_still = not topology.counts_bytes(row.storage)
    return "note" if is_still or word == "through" else None


def acknowledged_only(row):
    return "note" if row.write and not row.case.claims_durable else None


def dirty_start(row):
    if not row.write or row.medium == "ram" or row.sustain is not None:
        return None

    # What an actor wrote before the trial began is what it does.
    actors = [row.record.actors.get(name) for name in (row.case.beside or "none").split("+")]
    has_writer = any(actor and actor.is_write for actor in actors)

    def excess(one):
        before = one.trial["residency_before"] or {}
        of_file = before.get("dirty")
        of_machine = None if has_writer else one.trial["dirty_before"]
        told = [of_machine, of_file and of_file * row.host["page"]]
        told = [dirty for dirty in told if dirty is not None]
        return max(told) - max(16 * MIB, 0.05 * one.bytes) if told else None

    middle = median(row.values(excess))
    return "doubt" if middle is not None and middle > 0 else None


def compressed(row):
    if not row.write or row.case.op == "sync" or row.medium != "block":
        return None
    if row.writing["durable"] is None:
        return None

    shared = served.shared_share(row)
    if shared is not None and shared > NOISE:
        return None

    def stored(one):
        written = topology.written_at_most(row.storage, one.trial)
        return None if written is None else min(written, writing.durable_bytes(one))

    share = row.total(stored, writing.durable_bytes)
    if share is None or share >= 0.90:
        return None
    return "doubt" if row.case.fill == "random" else "note"


def nearly_full(row):
    storage = row.storage
    if not row.write or row.case.op == "sync" or not storage or row.medium == "ram":
        return None
    capacity, free = storage.get("capacity"), storage.get("free")
    is_full = bool(capacity) and free is not None and free / capacity < 0.15
    return "note" if is_full else None


def allocating(row):
    case = row.write
    if not case or case.op != "write" or row.medium == "ram" or case.allocation == "overwrite":
        return None
    is_each = case.every > 0 or case.sync == "dsync" or case.cache == "direct"
    return "note" if is_each else None


def throttled_writeback(row):
    case = row.write
    only_copies = ("copy-file-range", "sendfile", "splice")
    if not case or case.engine in only_copies or case.op == "sync":
        return None
    if case.cache == "direct" or case.sync == "dsync" or row.served_by == "ram":
        return None
    if topology.syncs_each_write(row.storage, row.case):
        return None
    reads = row.total(counter("task_read_bytes"), moved)
    if row.writing["acknowledged"] is None or reads is None or reads >= 0.01:
        return None

    def is_near_limit(one):
        """Whether enough was dirty for the OS to make the writer wait; None if unknown."""
        once = one.written_bytes
        if case.op == "write":
            once = min(once, case.size)
        if case.every:
            once = min(once, case.every * case.block * case.threads)
        groups = (row.memory_limit, row.host.get("memory_quota"))
        groups = [group for group in groups if group is not None]
        if case.sync != "none":
            before = one.trial["dirty_before"]
            most = None if before is None else before + once
        elif groups and once > min(groups):
            most = once
        else:
            most = one.trial["dirty_after"]
        limit = one.trial["dirty_limit"]
        if most is None or limit is None:
            return None
        return most >= min([limit, *groups]) // 2

    def held_back(one):
        is_near = is_near_limit(one)
        return None if is_near is None else waiting(one) if is_near else 0.0

    def waiting(one):
        ran = (one.trial.done.get("usage") or {}).get("cpu_ns")
        ran = one.trial["cpu_ns"] if ran is None else ran
        ready = one.trial["run_delay_ns"]
        wrote = [one.without_pauses(span["end_ns"] - span["start_ns"]) for span in one.spans]
        wrote = None if None in wrote else sum(wrote)
        stolen = one.trial["steal_ns"]
        if ran is None or ready is None or stolen is None or wrote is None or wrote <= 0:
            return None
        # The last sync comes after the last write.
        synced = 0
        for span in one.spans:
            ended = span.get("synced_ns")
            after = 0 if ended is None else max(0, ended - span["end_ns"])
            synced += max(0, (span.get("sync_ns") or 0) - after)
        return 1 - (ran + ready + stolen + synced) / wrote

    share = median(row.values(held_back))
    return "doubt" if share is not None and share >= 0.10 else None


# Pages, CPU use and the machine.

ARRAYS = {"copy": 2, "copy-nt": 2, "triad": 3, "triad-nt": 3}


def huge_page(host):
    """The size of a huge page, from the OS or from the processor's page tables."""
    if host.get("huge_page"):
        return host["huge_page"]
    has_tables = any(isa != "scalar" for isa in host["isas"])
    return host["page"] * (host["page"] // 8) if has_tables else None


def page_size(row):
    case = row.case
    if case.is_memory:
        arrays = ARRAYS.get(case.kernel, 1)
        array = max(4096, -(-(case.working_set // case.threads // arrays) // 4096) * 4096)
        asked, arrays = case.pages, arrays * case.threads
    elif row.file and case.engine == "load" and case.advice == "hugepage":
        asked, arrays, array = "huge", case.threads, case.size // case.threads
    elif case.has_huge_buffers and row.is_own:
        return page_size_of_buffers(row)
    else:
        return None
    huge = huge_page(row.host)
    if huge is None or array < huge:
        return None
    whole = array // huge * huge * arrays
    lay = median(row.values(counter("huge_bytes")))
    if lay is None:
        return None
    is_wrong = lay / whole < 0.90 if asked == "huge" else lay / whole > 0.10
    return "doubt" if is_wrong else None


def page_size_of_buffers(row):
    huge = huge_page(row.host)
    lay = median(row.values(counter("huge_bytes")))
    whole = buffers.in_huge_pages(row.case, huge) if huge else 0
    return "doubt" if whole and lay is not None and lay / whole < 0.90 else None


def overhead_bound(row, null):
    # In an open loop, an operation takes as long as the schedule says.
    if not row.is_own or not (row.file or row.write) or null is None or row.case.rate:
        return None
    share = comparisons.ratio_of_any(null.by_round(ns_per_op), row.by_round(ns_per_op))
    if share is None:
        return None
    share = share["median"]
    return "doubt" if share >= 0.10 else "note" if share >= 0.05 else None


def cpu_bound(row):
    if row.served_by != "device":
        return None
    busiest = min(row.threads_at_work, row.parallelism)
    def all_time(one):
        time = one.without_pauses(one.timed_ns)
        return None if time is None else time * busiest

    share = row.total(open_loop.working_cpu_ns, all_time)
    return "note" if share is not None and share >= 0.90 else None


def throttled(row):
    return limited(row) or held_back(row)


def held_back(row):
    if not row.moves:
        return None
    share = row.total(lambda one: quota_parts(row, one)[0],
                      lambda one: quota_parts(row, one)[1])
    return above(share, 0.01, 0.05)


def limited(row):
    """Whether the median trial used about as much as a device limit allows."""
    read_from = row.source if row.write and row.case.op == "copy" else row.storage
    read_from = read_from if reads_devices(row) else None
    written_to = row.storage if row.write and crosses_devices(row) else None
    is_set_by_schedule = open_loop.is_held(row) and not row.case.beside
    for storage, way in ((read_from, "read"), (written_to, "writ")):
        for limit in topology.limits_of_any(storage, [one.trial for one in row.figures]):
            def under(used):
                return lambda one: used(one) if limit in topology.limits(storage, one.trial) else None

            if what_of(limit).startswith(way):
                used = median(row.values(under(lambda one: by_group(one, limit))))
                if used is None:
                    by_case = under(lambda one: used_by_case(row, one, storage, limit))
                    used = median(row.values(by_case))
                if used is not None and 0.8 <= used <= 2.0:
                    return "note" if is_set_by_schedule else "doubt"
    return None


def what_of(limit):
    return limit["what"].replace("_", " ").replace("-", " ")


def reads_devices(row):
    """Whether the case read more than noise from devices."""
    if not (row.file or row.write):
        return False
    asked = (lambda one: one.read_bytes) if row.case.read_share else moved
    share = row.total(lambda one: served.fetched_bytes(row, one), asked)
    return share is not None and share > NOISE


def by_group(one, limit):
    """How much of its limit a group used in a trial, by its own counters."""
    name = {"read bytes": "read_bytes", "written bytes": "write_bytes", "write bytes": "write_bytes",
            "reads": "reads", "writes": "writes"}[what_of(limit)]
    for told in one.trial["group_traffic"] or []:
        if (told["group"], told["device"]) == (limit["group"], limit["device"]):
            window = one.trial["window_ns"]
            used = told[name] * 1e9 / window if window else 0
            return used / max(1, limit["a_second"])
    return None


def used_by_case(row, one, storage, limit):
    """The same in records whose groups did not count."""
    what = what_of(limit)
    trial = one.trial
    way = "reads" if what.startswith("read") else "writes"
    layer = topology.watched(storage)
    often = topology.times(layer, way)[0] if layer else 1

    def once(name):
        return None if trial[name] is None or not often else trial[name] / often

    if what == "read bytes":
        amount = trial["task_read_bytes"]
        amount = once("device_read_bytes") if amount is None else amount
    elif what in ("written bytes", "write bytes"):
        amount = once("device_write_bytes")
    else:
        told = [once(f"device_{way}")]
        if row.case.is_direct and row.case.op != "sync" and not row.case.read_share:
            told.append(one.ops)
        told = [value for value in told if value is not None]
        amount = max(told) if told else None
    if amount is None:
        return None
    # The limit of a device applies to its part of the layer's bytes.
    layers = storage.get("layers") or []
    own = next((one for one in layers if limit["device"] in one["nodes"]), None)
    part = topology.times(own, way)[0] / len(own["nodes"]) if own else \
        1 / max(1, len(storage["devices"]))
    return amount * 1e9 / max(1, one.wall_ns) * part / max(1, limit["a_second"])


def contended(row):
    threads = row.threads_at_work
    is_told = all(one.told_by_threads("run_delay_ns") is not None for one in row.figures)
    if threads > row.host["cores"] or (not is_told and row.case.engine == "uring"):
        return None
    threads = row.case.threads if is_told else threads

    def waited(one):
        ready = one.run_delay_ns
        apart = (one.trial["throttled_ns"] or 0) + one.overslept_ns
        return None if ready is None else max(0, ready - apart)

    def all_time(one):
        time = one.without_pauses(one.wall_ns)
        return None if time is None else time * threads

    return above(row.total(waited, all_time), 0.10, 0.20)


def steal(row):
    return above(row.total(counter("steal_ns"), counter("machine_cpu_ns")), 0.01, 0.05)


def swapped(row):
    total = sum(row.values(counter("swapped_bytes")))
    if total == 0 or not row.moves:
        return None
    share = row.total(counter("swapped_bytes"), moved)
    return "doubt" if share is not None and share > 0.01 else "note"


def excluded(row):
    return "note" if row.gates and row.moves else None


def too_few(row):
    estimate = row.throughput or row.iops
    if estimate and estimate["invocations"] > 1:
        return "doubt" if estimate["invocations"] < 3 else None
    return "doubt" if len(row.counted) < 7 and row.sustain is None else None


def wide_interval(row):
    """An interval that leaves a rate open by a factor of two either way."""
    if row.sustain is not None:
        return None
    rates = [row.throughput or row.iops, row.writing and row.writing["acknowledged"]]
    is_wide = any(rate["high"] >= 4 * rate["low"] for rate in rates
                  if rate and rate["low"] is not None)
    return "doubt" if is_wide else None


def failed_trials(row):
    """Failed trials; what is unsupported, or was not tried, is not a failure."""
    fates = [row.fate(trial) for trial in row.trials]
    count = sum(fate == "failed" and not reason.startswith("not tried: ") for fate, reason in fates)
    if not count:
        return None
    return "void" if count >= 0.5 * (count + len(row.done)) else "doubt"


def too_short(row):
    middle = median(one.timed_ns for one in row.figures)
    doubt, note = (10e6, 10e6) if row.case.is_memory else (20e6, 100e6)
    if middle < note:
        return "doubt" if middle < doubt else "note"
    skew = median(one.start_skew_ns for one in row.figures)
    return above(skew and skew / middle, 0.05, 0.20)


def imbalanced(row):
    return above(row.imbalance, 10.0, 25.0)


# Time series.


def stalled(row):
    case = row.case
    ahead = ("willneed", "populate", "touch-ahead")
    if row.write:
        may = case.cache == "direct" or case.sync == "dsync" or case.op == "sync"
    elif row.file:
        alone = case.pattern == "random" and case.advice not in ahead
        may = row.served_by in ("page-cache", "ram") or case.cache == "direct" or alone
    else:
        may = False
    middle = row.histogram.percentile("p50")
    if not may or middle is None:
        return None
    least = max(100 * middle, 10e6)
    # Stalls of further rounds count, too.
    pairs = list(row.every_latency.pairs())
    long = [(ns, count) for ns, count in pairs if ns >= least]
    few = sum(count for _, count in long)
    if not few or few > 0.10 * row.every_latency.count:
        return None
    share = sum(ns * count for ns, count in long) / sum(ns * count for ns, count in pairs)
    return above(share, 0.01, 0.10)


def transient(row):
    told = row.course
    if row.sustain is not None:
        is_steady = told and told["is_steady"]
        return None if is_steady is True or not row.moves else "doubt"
    if not told or len(told["rates"]) < 10 or told["step_s"] < 0.5:
        return None
    return "doubt" if told["is_steady"] is False and not told["change"] else None


def step_change(row):
    told = row.course
    if told and told["change"]:
        change = told["change"]
        length = told["step_s"] * len(told["rates"])
        if change["after"] > change["before"] and change["at_s"] <= 0.3 * length:
            return "note"
        return "note" if told["sustained"] is not None else "doubt"
    rates = rates_of_rounds(row)
    at = rates and courses.split(rates, row)
    if not at:
        return None
    is_rise = median(rates[at:]) > median(rates[:at])
    return "note" if is_rise and at <= 0.3 * len(rates) else "doubt"


def rates_of_rounds(row):
    return row.units() if row.moves and row.sustain is None else None


def drifting(row):
    rates = rates_of_rounds(row)
    if not rates or courses.drift(rates, row) is None:
        return None
    return None if courses.split(rates, row) else "doubt"


def depth_not_reached(row):
    """Little's law: how many operations the devices had at once, of those that were asked for."""
    case = row.case
    if not row.moves or case.is_memory or case.rate or row.served_by != "device":
        return None
    asked = int(case.axes["depth"]) * case.threads
    if row.write:
        is_judged = case.is_direct and case.op == "write" and case.axes["sync"] != "dsync"
    else:
        is_judged = case.is_direct or case.pattern == "random"
    if asked < 2 or not is_judged:
        return None
    def at_once(one, way, ops):
        requests, ns = one.trial[f"device_{way}s"], one.trial[f"device_{way}_ns"]
        if not requests or ns is None or not one.elapsed_ns:
            return None
        return max(ops, requests) / one.elapsed_ns * ns / requests

    def in_flight(one):
        if not row.case.read_share:
            return at_once(one, "write" if row.write else "read", one.ops)
        both = at_once(one, "read", one.read_ops), at_once(one, "write", one.written_ops)
        return None if None in both else sum(both)

    seen = median(row.values(in_flight))
    if seen is None or seen >= 0.5 * asked:
        return None
    return "note"


RULES = {
    "CacheLeak": cache_leak, "NotWarm": not_warm, "DirectIgnored": direct_ignored,
    "CacheKept": cache_kept, "FileInUse": file_in_use, "PartlyCached": partly_cached, "CacheUnseen": cache_unseen, "OverRead": over_read,
    "NoIo": no_io, "Ram": ram, "Unverified": unverified, "CountersUnseen": counters_unseen,
    "LoopCached": loop_cached, "MaybeUnmapped": maybe_unmapped,
    "DigestMismatch": digest_mismatch, "BytesUnchecked": bytes_unchecked,
    "TornPages": shared.torn_pages, "OverlapUnseen": shared.overlap_unseen,
    "NotDurable": not_durable,
    "AcknowledgedOnly": acknowledged_only, "DirtyStart": dirty_start, "Compressed": compressed,
    "NearlyFull": nearly_full, "Allocating": allocating,
    "ThrottledWriteback": throttled_writeback, "PageSize": page_size, "CpuBound": cpu_bound,
    "LoadNotHeld": open_loop.load_not_held, "DepthNotReached": depth_not_reached,
    "Throttled": throttled, "Contended": contended, "Swapped": swapped, "Foreign": foreign,
    "SharedDevice": shared_device,
    "Steal": steal, "Excluded": excluded, "TooFew": too_few,
    "WideInterval": wide_interval,
    "FailedTrials": failed_trials, "TooShort": too_short, "Imbalanced": imbalanced,
    "Stalled": stalled, "Transient": transient,
    "StepChange": step_change, "Drifting": drifting, "CpuLevels": placement.cpu_levels,
    "RemotePages": placement.remote_pages, "CrossNode": cross_node,
    "FasterThanLink": links.faster_than_link,
}


def ns_per_op(one):
    return one.ns_per_op


def find(row, null):
    """All findings on a single case; none without a trial."""
    if row.counted:
        for code, rule in RULES.items():
            row.find(code, rule(row))
        row.find("OverheadBound", overhead_bound(row, null))
