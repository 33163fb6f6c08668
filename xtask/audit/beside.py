"""The counters of a trial without what the actors beside its case did."""

import topology
from writing import sync_calls

# What a file system may write for a byte, and for a sync.
WRITES_MOST = 1.25
METADATA_OF_SYNC = 256 * 2**10
# What an actor did in a short time, at most, divided by what it does on average.
AROUND_MOST = 4


def total(values):
    values = list(values)
    return None if None in values else sum(values)


def less(counter, part):
    """A difference; None if unknown, or below zero."""
    return None if counter is None or part is None or counter < part else counter - part


def in_flight(actor, storage):
    """The most that an actor has submitted and not completed, in bytes."""
    if actor.is_memory or actor.call:
        return 0
    operations = actor.block * (actor.depth or 1) * actor.threads
    if actor.is_direct:
        return operations
    loads = actor.advice in ("willneed", "populate", "touch-ahead") or actor.engine == "load"
    if actor.is_read and loads:
        return max(operations, actor.size)
    ahead = 2 * actor.threads * (topology.read_ahead_most(storage) or 0)
    if actor.is_write and actor.sync != "dsync":
        since_sync = operations * actor.every if actor.every else actor.size
        operations = max(operations, min(since_sync, actor.size))
    return operations + ahead


def unsure(evidence, actors, storage):
    """By how many bytes, read and written, the devices' counters may differ from the actors'."""
    read = written = 0
    for one, actor in actors:
        told = one["evidence"]
        window = told.get("window_ns") or 0
        extra = max(0, window - (evidence.get("window_ns") or 0))
        flying = in_flight(actor, storage)

        def differ(name, way):
            most = topology.multiples(storage, way)[1]
            around = AROUND_MOST * (told.get(name) or 0) * extra // max(1, window)
            return (flying + around) * (1 if most is None else most)

        is_read = actor.is_read and not actor.call
        if is_read or actor.read_share or actor.op == "copy":
            read += differ("task_read_bytes", "reads")
        if actor.is_write:
            written += differ("task_write_bytes", "writes")
    return read, written


def written(actors, case, storage):
    """What devices wrote for actors: at most, beside a case that reads; surely, beside another."""
    least, _ = topology.multiples(storage, "writes")
    most = topology.own_writes_most(storage)
    writers = [(one, actor) for one, actor in actors if actor.is_write]
    if case.is_write:
        if any(not actor.is_direct for _, actor in writers):
            return None
        told = total(one["evidence"].get("task_write_bytes") for one, _ in writers)
        return None if told is None else told * least
    if most is None:
        return None
    amounts = []
    for one, actor in writers:
        done, told = one["outcome"].get("done"), one["evidence"].get("task_write_bytes")
        if done is None or told is None:
            return None
        amounts.append(int(told * WRITES_MOST) + METADATA_OF_SYNC * syncs_of(actor, done))
    return sum(amounts) * most


def syncs_of(actor, done):
    """How often an actor made durable what it had written."""
    if actor.sync == "dsync":
        return sum(span["ops"] - span.get("read_ops", 0) for span in done["spans"])
    told = sum(count for _, count in done["syncs"]["counts"])
    return max(told, sync_calls(actor, done["spans"]))


def own(evidence, told, case, cases, storage, sharing=None):
    """The evidence of a trial of `case`; `cases` are those of the actors by name, of which those in
    `sharing` use the file of the case."""
    actors = [(one, cases.get(one["name"])) for one in told]
    sharing = sharing or set()
    if not actors:
        return evidence
    own = dict(evidence) | {"unsure_read": 0, "unsure_written": 0}
    own["disk_read_bytes"] = own["disk_write_bytes"] = own["disk_flushes"] = None
    devices = ("device_read_bytes", "device_reads", "device_read_ns", "device_write_bytes",
               "device_writes", "device_write_ns", "device_busy_ns", "device_flushes")
    if any(actor is None for _, actor in actors):
        return own | dict.fromkeys(devices)
    if any(one["name"] in sharing for one, _ in actors):
        own["residency_after"] = None
    often = topology.exact(topology.multiples(storage, "reads"))
    read = total(one["evidence"].get("task_read_bytes") for one, _ in actors)
    read = None if often is None or read is None else read * often
    own["device_read_bytes"] = less(own.get("device_read_bytes"), read)
    own["unsure_read"], own["unsure_written"] = unsure(evidence, actors, storage)
    wrote = written(actors, case, storage)
    if wrote is not None:
        # What they surely wrote, or the most that they may have.
        differs = own["unsure_written"]
        wrote = max(0, wrote - differs) if case.is_write else wrote + differs
    own["device_busy_ns"] = None
    own["device_write_bytes"] = less(own.get("device_write_bytes"), wrote)
    if any(actor.is_read for _, actor in actors):
        own["device_reads"] = own["device_read_ns"] = None
    if any(actor.is_write for _, actor in actors):
        own["device_writes"] = own["device_write_ns"] = None
    if any(actor.claims_durable for _, actor in actors):
        own["device_flushes"] = None
    return own


def are_right(told):
    """Whether what each actor read or wrote is right; only those for whom it is known."""
    for one in told:
        spans = one["outcome"].get("done", {}).get("spans", [])
        digests = [span.get("digest") for span in spans]
        digest = None if None in digests else sum(digests) % 2**64
        if one.get("expected_digest") is not None:
            yield digest == one["expected_digest"]
        if one.get("read_back") is not None:
            yield one["read_back"]["digest"] == one["read_back"]["expected"]
