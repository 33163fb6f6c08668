"""Writes: the acknowledged rate, and durability."""

import topology
from intervals import median, whole

FLUSHES_LEAST = 0.90
# Evidence that does not contradict a claim of durability.
DURABLE = ("holds", "unseen", "uncounted", "cache unknown", "through", "may be through",
           "barriers off, through")


def sync_calls(case, spans):
    """The sync calls that the case requests for this many operations."""
    if case.sync in ("none", "dsync"):
        return 0
    calls = 0
    for span in spans:
        if span["ops"] > 0:
            if case.op == "sync":
                calls += span["ops"]
            else:
                calls += -(-span["ops"] // case.every) if case.every else 1
    return calls


def told_syncs(one):
    return sum(count for _, count in (one.trial.done.get("syncs") or {"counts": []})["counts"])


def syncs(one):
    """The syncs of a trial: the reported ones, or else those the case requests."""
    return told_syncs(one) or sync_calls(one.case, one.spans)


def syncs_due(one):
    asked = write_calls(one) if one.case.sync == "dsync" else sync_calls(one.case, one.spans)
    due = max(told_syncs(one), asked)
    # A sync of a mix before which only reads came has nothing to flush.
    return min(due, one.written_ops) if one.case.read_share else due


def write_calls(one):
    """Small blocks share a call of the engine that writes through a buffer of 8 KiB."""
    in_a_call = max(1, 8192 // one.case.block) if one.case.engine == "buffered" else 1
    return -(-one.written_ops // in_a_call)


def is_flushed(one, storage):
    """Whether the devices flushed as often as one thread requires; None if nothing counts."""
    flushes = one.trial["device_flushes"]
    if flushes is None:
        return None
    flushes //= topology.flushes_of_a_sync(storage)
    at_once = one.case.depth if one.case.sync == "dsync" else 1
    owes_none = one.case.read_share and one.written_ops == 0
    return bool(owes_none) or flushes >= max(1.0, FLUSHES_LEAST * syncs_due(one) / one.case.threads / at_once)


def is_written_through(one, storage):
    times, writes = max(1, topology.multiples(storage, "writes")[0]), one.trial["device_writes"]
    # Uncounted writes may have been FUA writes.
    return one.case.sync == "dsync" and (writes is None or writes // times >= write_calls(one))


def still_dirty(row, one):
    """The bytes of a file whose pages were dirty after the last sync, of those that it owes."""
    dirty = (one.trial["residency_after"] or {}).get("dirty")
    return None if dirty is None else min(dirty * row.host["page"], owed(one))


def owed(one):
    """The bytes of a file that may be dirty: passes over it leave no more than there is."""
    return min(durable_bytes(one), max(1, one.case.size))


def durability(row):
    """The evidence on the claim: a word, and the number of trials."""
    word, count = of_syncs(row)
    if word in ("holds", "through", "may be through") and topology.has_unseen_parts(row.storage):
        word, count = "unseen", 0
    is_rewritten = word in DURABLE and row.write and not row.case.op == "sync" and (
        sum(map(durable_bytes, row.figures)) < 0.99 * sum(one.written_bytes for one in row.figures))
    return ("rewritten", 0) if is_rewritten else (word, count)


def of_syncs(row):
    """The evidence that syncs did what they claim."""
    case = row.write
    if not case or not case.claims_durable:
        return "not claimed", 0
    if row.medium == "ram" or topology.lost_parts(row.storage):
        return "in memory", 0
    if case.sync != "dsync" and case.op != "sync":
        untold = sum(one.synced_ns is None for one in row.figures)
        if untold:
            return "untold", untold
    if case.sync not in ("msync", "dsync") and topology.drops_syncs(row.storage):
        return "dropped", 0
    dirty = row.total(lambda one: still_dirty(row, one), owed)
    if dirty is not None and dirty > 0.01:
        return "dirty", 0
    if row.medium != "block":
        return "unseen", 0
    cached = [one for one in row.storage["devices"] if one.get("write_cache") != "write through"]
    is_known = any(one.get("write_cache") == "write back" for one in cached)
    may_be_through = all(one.get("fua") is not False for one in cached)
    if topology.barriers_are_off(row.storage) and topology.has_volatile_cache(row.storage):
        is_plain = case.allocation == "overwrite" and case.is_direct and case.sync == "dsync"
        is_sent = may_be_through and is_known and not topology.is_flush_stopped(row.storage)
        return "barriers off, through" if is_sent and is_plain else "barriers off", 0
    if not cached:
        return "holds", 0
    unflushed = uncounted = through = 0
    for one in row.figures:
        flushed, is_through = is_flushed(one, row.storage), (
            may_be_through and is_written_through(one, row.storage))
        unflushed += flushed is False and not is_through
        uncounted += flushed is None and not is_through
        through += flushed is not True and is_through
    if unflushed:
        return ("unflushed" if is_known else "cache unknown"), unflushed
    if uncounted:
        return "uncounted", uncounted
    if through:
        if any(one.trial["device_writes"] is None for one in row.figures):
            return "may be through", 0
        return "through" if all(one.get("fua") is True for one in cached) else "may be through", 0
    return "holds", 0


def blocks_of_thread(case, thread):
    """How many blocks of a pass belong to a thread."""
    blocks = -(-case.size // case.block)
    if case.ops:
        blocks = min(blocks, case.ops)
    if case.share == "interleaved":
        return (blocks + case.threads - 1 - thread) // case.threads
    return blocks * (thread + 1) // case.threads - blocks * thread // case.threads


def durable_bytes(one):
    """The bytes that had to be stored: of what a thread writes to a block between two of its syncs,
    the last. In a mix, a block is left unwritten by a visit with the share of the reads."""
    case = one.case
    if case.sync == "dsync" or case.op != "write":
        return one.written_bytes
    total = 0
    for span in one.spans:
        blocks = -(-case.size // case.block)
        if span["thread"] < case.threads:
            blocks = blocks_of_thread(case, span["thread"])
        visits = min(case.every or span["ops"], span["ops"])
        share = 1
        if visits > blocks > 0:
            reads = (case.read_share or 0) / 100
            whole, more = divmod(visits, blocks)
            stored = sum(1 - reads ** (whole + (block < more)) for block in range(blocks))
            share = stored / visits / (1 - reads)
        total += (span["bytes"] - span.get("read_bytes", 0)) * share
    return total if case.every else min(total, case.size)


def bytes_of(one):
    return one.written_bytes


def elapsed_of(one):
    return one.elapsed_ns


def timed_of(one):
    return one.timed_ns


def told(row):
    """The write figures in JSON form; None if nothing is written."""
    if not row.write or not row.counted:
        return None
    page = row.host["page"]

    def dirty_left(one):
        after = one.trial["residency_after"]
        return after and after.get("dirty") is not None and after["dirty"] * page or (
            0 if after and after.get("dirty") == 0 else None)

    back = [trial.read_back for trial in row.counted if trial.read_back is not None]
    is_call = row.case.sync not in ("none", "dsync")
    return {
        "acknowledged": row.rate_estimate(lambda one: one.acknowledged, bytes_of, elapsed_of),
        "durable": row.rate_estimate(lambda one: one.written_rate, bytes_of, timed_of)
        if row.durable_rates() else None,
        "sync_latency_ns": row.syncs.latency(),
        "sync_latency_ns_intervals": row.syncs.intervals(),
        "syncs_per_trial": whole(median(map(syncs, row.figures))) if is_call else None,
        "flushes_per_trial": row.whole("device_flushes"),
        "device_write_bytes": row.whole("device_write_bytes"),
        "dirty_left_bytes": whole(median(map(dirty_left, row.figures))),
        "read_back_verified": all(one["digest"] == one["expected"] for one in back)
        if back else None,
        "read_back_past_cache": all(one["is_past_cache"] for one in back) if back else None,
    }
