"""What must hold of a row, by what neither ioassay nor its audit looks at.

Each law takes what was played and yields the faults that it finds. Counts decide, not speeds, so a
busy machine breaks none of them.
"""

from dataclasses import dataclass
from statistics import median

# The name by which tracepoints know the planted neighbor.
NEIGHBOUR = "dd"
CACHER = "cat"
# What is lost at the edges of a span: requests in flight, and readahead before its start.
EDGE_BYTES = 1 << 20
# A worker tells its progress in steps of this length.
STEP_NS = 100_000_000
SYNCED = ("fdatasync", "fsync", "dsync", "msync")


@dataclass
class Fault:
    law: str
    row: str
    text: str


# Findings that only doubt how fast something was, not what served it or made it durable.
OF_SPEED = {"Contended", "Steal", "Stalled", "TooFew", "TooShort", "WideInterval", "Excluded",
            "Imbalanced", "Transient", "StepChange", "Drifting", "CpuLevels", "Swapped",
            "ThrottledWriteback", "Foreign", "DirtyStart", "InodesHeld", "Throttled"}


def codes(row):
    return {finding["code"] for finding in row["findings"]}


def is_sound(row):
    return row["verdict"] == "sound"


def is_believed(row):
    """Whether the row says that its bytes are what it claims, whatever it says of its speed."""
    doubts = {finding["code"] for finding in row["findings"] if finding["severity"] != "note"}
    return is_sound(row) or row["verdict"] == "doubtful" and doubts <= OF_SPEED


def flush_end(trial):
    return max(trial.end, trial.synced)


def has_written(case, trial):
    """Whether a mix surely drew a write: with few operations, all may have been reads."""
    return ((case.get("read_share") or 0) / 100) ** trial.ops < 1e-6


def durable(played):
    """A durable rate is at most what the lowest device wrote, and its flushes were seen."""
    storage, trace = played.storage, played.trace
    for row, trials in played.rows():
        case = row["case"]
        if not is_believed(row) or case.get("op") not in ("write", "copy"):
            continue
        if case["sync"] not in SYNCED:
            # Past the page cache, what is acknowledged was given to a device.
            if case["cache"] == "direct" and not (storage.in_memory or storage.unseen):
                yield from written(played, row, trials)
            continue
        if storage.in_memory or not storage.flushes:
            where = "in memory" if storage.in_memory or storage.partly_in_memory \
                else "on storage that leaves out flushes"
            yield Fault("durable", row["id"], f"sound, {where}")
            continue
        if storage.unseen:
            yield Fault("durable", row["id"], "sound, where no counter sees what took the bytes")
            continue
        yield from written(played, row, trials)
        # Others flush the disk below, too, but nobody else the storage's own device.
        spans = ((number, trial) for number in played.numbers for trial in trials
                 if has_written(case, trial))
        if any(trace.flushes(number, trial.start, flush_end(trial) + 1_000_000) == 0
               for number, trial in spans):
            yield Fault("durable", row["id"], "no flush reached a device in a trial")


def names_durable(played):
    """Names that are called synced were written to the lowest device, and flushed."""
    storage, trace = played.storage, played.trace
    for row, trials in played.rows():
        case = row["case"]
        if not is_believed(row) or case.get("call") not in ("create", "rename", "unlink") \
                or case["sync"] != "fsync":
            continue
        if storage.in_memory or not storage.flushes or storage.unseen:
            yield Fault("durable", row["id"], "names are called synced, and nothing makes them so")
            continue
        spans = [(number, trial.start, flush_end(trial) + 1_000_000)
                 for number in played.numbers for trial in trials]
        if any(trace.moved(number, "W", start, end) == 0 or trace.flushes(number, start, end) == 0
               for number, start, end in spans):
            yield Fault("durable", row["id"], "names are called synced, and a device got nothing")


def accused(played):
    """A row is not said to swallow flushes if each trial that wrote to the device flushed it."""
    storage, trace = played.storage, played.trace
    if not storage.own or not storage.flushes or not storage.has_requests:
        return
    for row, trials in played.rows():
        if not any(finding["code"] == "NotDurable" and " flushes for " in finding["message"]
                   for finding in row["findings"]):
            continue
        spans = [(played.numbers[0], trial.start, flush_end(trial) + 1_000_000)
                 for trial in trials]
        wrote = [span for span in spans if trace.moved(span[0], "W", *span[1:]) > 0]
        if all(trace.flushes(*span) > 0 for span in wrote):
            yield Fault("durable", row["id"], f"NotDurable, and each of {len(wrote)} trials that "
                        f"wrote, of {len(trials)}, flushed")


def written(played, row, trials):
    """Whether devices wrote what a sound durable row says."""
    case = row["case"]
    if played.storage.compresses or case.get("fill") not in (None, "random"):
        return
    share = 1 - (case["read_share"] or 0) / 100
    for trial in trials:
        once = min(trial.bytes, case["size"]) if case["every"] == 0 and case["sync"] != "dsync" \
            else trial.bytes
        claimed = once * share
        if case["read_share"]:
            # The share is drawn anew for each operation.
            claimed = max(claimed - 4 * (trial.ops / 4) ** 0.5 * case["block"], 0)
        for number in played.numbers:
            did = played.trace.moved(number, "W", trial.start - 1_000_000,
                                     flush_end(trial) + 1_000_000)
            if did < 0.9 * claimed - EDGE_BYTES:
                yield Fault("durable", row["id"],
                            f"{claimed:.0f} B are called written, {did} B were written to {number}")
                return


def served(played):
    """Cold and direct reads came from devices, warm ones did not."""
    storage = played.storage
    for row, trials in played.rows():
        case = row["case"]
        if not is_believed(row) or "op" in case and case["op"] or case.get("call") \
                or case.get("kernel") or not trials:
            continue
        yield from served_row(played, storage, row, trials)


def served_row(played, storage, row, trials):
    case = row["case"]
    claims_device = case["cache"] in ("cold", "direct") or row["served_by"] == "device"
    if claims_device and (storage.in_memory or storage.unseen or storage.cached_below
                          or storage.has_data_in_memory):
        yield Fault("served", row["id"], f"sound {row['served_by']} on such storage")
        return
    if not played.numbers:
        return
    stored = played.stored
    for trial in trials:
        start, end = trial.start - 1_000_000, trial.end + 1_000_000
        # What the planted user of the same file fetched, nobody else had to.
        did = {number: played.trace.moved(number, "R", start, end)
               - played.trace.moved(number, "R", start, end, CACHER) for number in played.numbers}
        # A pass reads each block once; readahead of a cold file may read more than was asked for.
        if claims_device:
            for number, moved in did.items():
                if moved < 0.9 * trial.bytes * stored - EDGE_BYTES and not storage.compresses:
                    yield Fault("served", row["id"], f"{trial.bytes} B are called the device's, "
                                f"{moved} B were read from {number}")
                    return
        is_alone = storage.own and not played.question.neighbour and not case.get("beside")
        own = did.get(played.numbers[0], 0) if is_alone else 0
        if case["cache"] == "warm" and own > 0.02 * trial.bytes + EDGE_BYTES:
            yield Fault("served", row["id"],
                        f"warm, but {own} B of {trial.bytes} B were read from the device")
            return


def shared(played):
    """Of what the cache served a part of, devices served the rest; names that a device served made
    it read."""
    if not played.storage.own or played.storage.compresses or played.storage.unseen:
        return
    for row, trials in played.rows():
        case = row["case"]
        if not is_believed(row) or not trials:
            continue
        did = [played.trace.moved(played.numbers[0], "R", trial.start - 5_000_000, trial.end)
               for trial in trials]
        most = row["hit_share_most"]
        if most is not None and not case.get("op"):
            wanted = median(trial.bytes for trial in trials) * (0.98 - most) * played.stored
            if median(did) < 0.8 * wanted - EDGE_BYTES:
                yield Fault("served", row["id"], f"at most {most:.2f} came from the cache, but "
                            f"devices read {median(did):.0f} B of {wanted:.0f} B")
        if case.get("call") in ("stat", "open", "readdir") and row["served_by"] == "device" \
                and max(did) == 0:
            yield Fault("served", row["id"], "names from a device, and none was read")


def counters(played):
    """What ioassay says that the storage's own device did is what its tracepoints say."""
    number = played.numbers[0] if played.storage.own else None
    if number is None or not played.trace.has_requests:
        return
    for row, trials in played.rows():
        for trial in trials:
            end = flush_end(trial)
            # Zeroing blocks without data (N) counts as writing in /proc/diskstats.
            for name, kind, counted in (("device_read_bytes", "R", "R"),
                                        ("device_write_bytes", "W", "WN")):
                said = trial.evidence.get(name)
                if said is None:
                    continue
                least = played.trace.moved(number, kind, trial.start + 100_000, end - 100_000)
                # Counters are read some time before and after.
                around = trial.evidence["window_ns"] - (end - trial.start) + 50_000_000
                most = sum(played.trace.moved(number, kind, trial.start - around, end + around)
                           for kind in counted)
                if not least <= said + EDGE_BYTES or not said <= most + EDGE_BYTES:
                    yield Fault("counters", row["id"], f"{name} is {said}, traced were {least} "
                                f"to {most}")
                    return


def besides(played):
    """An actor that reads past the page cache did no more than the device read."""
    if not played.storage.own or played.storage.cached_below or played.storage.compresses:
        return
    for row, trials in played.rows():
        for actor in row["beside"]:
            # In a short trial, only its whole run is known, and that is said.
            reads = actor["does"].startswith("pread") and "direct" in actor["does"]
            if not reads or actor["of_whole_run"] or not is_believed(row) \
                    or not actor["throughput"]:
                continue
            did = median(fastest_read(played, trial) for trial in trials)
            if actor["throughput"] > 1.15 * did + EDGE_BYTES:
                yield Fault("figures", row["id"], f"{actor['name']} is said to read "
                            f"{actor['throughput']:.0f} B/s, the device read {did:.0f} B/s")


def fastest_read(played, trial):
    """The most bytes a second that its device read in a whole step of progress within a trial: an
    actor's rate is that of the steps that lie in it."""
    starts = range(trial.start, max(flush_end(trial) - STEP_NS, trial.start) + 1, STEP_NS // 10)
    return max(played.trace.moved(played.numbers[0], "R", start, start + STEP_NS)
               for start in starts) * 1e9 / STEP_NS


def limited(played):
    """A row that a planted limit holds back names it, and without a limit none is named."""
    limit = played.question.limit
    for row, trials in played.rows():
        throttled = "Throttled" in codes(row)
        # In version 1 the kernel ignores such limits of the groups above.
        if limit is None or played.question.above:
            if throttled and "quota" not in str(row["findings"]):
                yield Fault("limits", row["id"], "Throttled, and no limit is planted")
            continue
        if not trials or throttled or row["verdict"] != "sound":
            continue
        number = played.numbers[0 if limit.on == "own" else -1]
        if limit.on == "below" and not played.storage.own:
            continue
        kind = "R" if limit.kind.startswith("read") else "W"
        # Of a disk that others share, only requests of the loop device's own file count; they
        # are as many bytes as the loop device moved.
        counted = played.numbers[0] if limit.kind.endswith("bps") else number
        rates = []
        for trial in trials:
            end = flush_end(trial)
            moved = played.trace.moved(counted, kind, trial.start, end) \
                if limit.kind.endswith("bps") \
                else played.trace.count(counted, kind, trial.start, end)
            rates.append(moved / trial.seconds)
        if 0.9 * limit.value <= median(rates) <= 1.5 * limit.value:
            yield Fault("limits", row["id"],
                        f"sound at {median(rates):.0f}/s of a limit of {limit.value}/s")


def held_back(played):
    """A row that a quota of processors held back says so."""
    throttling = played.throttling
    if not throttling or not played.question.quota:
        return
    for row, trials in played.rows():
        if not trials or not is_sound(row) or "Throttled" in codes(row):
            continue
        shares = [throttling.ns(trial.start, trial.end) / max(trial.end - trial.start, 1)
                  for trial in trials]
        if median(shares) > 0.3:
            yield Fault("limits", row["id"], f"sound, and held back by a quota for "
                        f"{100 * median(shares):.0f} % of its time")


def is_alone(played, trial):
    """Whether the disk below had no more to do than the storage's own device gave it."""
    if played.storage.own is None or played.storage.cached_below:
        return False
    start, end = trial.start - 5_000_000, flush_end(trial) + 5_000_000
    own, lowest = (sum(played.trace.moved(number, kind, start, end) for kind in "RW")
                   for number in (played.numbers[0], played.numbers[-1]))
    return lowest <= 1.05 * own + EDGE_BYTES


def foreign(played):
    """A planted neighbor is found, and without one none is."""
    asked = played.question
    for row, trials in played.rows():
        found = any(finding["code"] == "Foreign" and finding["severity"] != "note"
                    for finding in row["findings"])
        if asked.neighbour is None:
            if found and trials and all(is_alone(played, trial) for trial in trials):
                yield Fault("neighbors", row["id"], "Foreign, and there is no neighbor")
            continue
        # Who uses the device shares nothing with what the page cache serves.
        reads = not row["case"].get("op") and not row["case"].get("call")
        kind = "R" if asked.neighbour.startswith("reader") else "W"
        if not is_sound(row) or not trials or found or kind == "W" and not reads \
                or row["served_by"] in ("page-cache", "ram", "no-io"):
            continue
        shares, moved = [], []
        for trial in trials:
            other = played.trace.moved(played.numbers[0], kind, trial.start, flush_end(trial),
                                       NEIGHBOUR)
            moved.append(other)
            shares.append(other / max(trial.bytes, 1))
        # So few are like a file system's own.
        least = 2 << 20 if reads and kind == "R" else 24 << 20
        if median(shares) > 0.25 and median(moved) > least:
            yield Fault("neighbors", row["id"],
                        f"sound beside a neighbor that moved {median(moved):.0f} B a trial")


def syncs(played):
    """The calls that a row says made its data durable were made."""
    for row, trials in played.rows():
        case = row["case"]
        if not is_believed(row) or case.get("op") != "write" or case["sync"] not in ("fdatasync",
                                                                                  "fsync"):
            continue
        if case["engine"] == "uring" or case["beside"]:
            continue
        said = (row["writing"] or {}).get("syncs_per_trial")
        if said is None:
            continue
        made = [sum(trial.start - 1000 <= call.ns <= flush_end(trial) + 1000
                    and call.name == case["sync"] for call in played.trace.calls)
                for trial in trials]
        if made and not min(made) <= said <= max(made):
            yield Fault("syncs", row["id"], f"{said} syncs a trial, {min(made)} to {max(made)} "
                        "calls were made")


def verdicts(played):
    """Findings and verdicts agree, in rows and in the list below them."""
    worst = {"sound": "note", "doubtful": "doubt", "void": "void"}
    order = ("note", "doubt", "void")
    for row in played.said["cases"]:
        wanted = worst.get(row["verdict"])
        if wanted is None:
            continue
        found = max((finding["severity"] for finding in row["findings"]), key=order.index,
                    default="note")
        if found != wanted:
            yield Fault("verdicts", row["id"], f"{row['verdict']}, but its worst finding is "
                        f"a {found}")
    by_id = {row["id"]: row for row in played.said["cases"]}
    for finding in played.said["findings"]:
        for name in (*finding["cases"], *finding["baselines"]):
            own = [other["severity"] for other in by_id[name]["findings"]
                   if other["code"] == finding["code"]]
            if finding["severity"] not in own:
                yield Fault("verdicts", name, f"{finding['code']} is a {finding['severity']} in "
                            f"the list and {own} in the row")


def mixed(played):
    """The reads of a mix past the page cache came from the device, its writes went to it."""
    storage = played.storage
    if not storage.own or storage.compresses or storage.unseen or storage.cached_below:
        return
    for row, trials in played.rows():
        case = row["case"]
        if not case.get("read_share") or case["cache"] != "direct" or not is_believed(row):
            continue
        reads = case["read_share"] / 100
        for name, kind, share in (("reads", "R", reads), ("writes", "W", 1 - reads)):
            # The share is drawn anew for each operation.
            said = median(max(share * trial.ops - 4 * (trial.ops / 4) ** 0.5, 0) * case["block"]
                          for trial in trials)
            did = median(played.trace.moved(played.numbers[0], kind, trial.start - 1_000_000,
                                            flush_end(trial) + 1_000_000) for trial in trials)
            if did < 0.9 * said - EDGE_BYTES:
                yield Fault("served", row["id"], f"{name} are {said:.0f} B of its figure, the "
                            f"device moved {did:.0f} B")


# Of two hosts.
TOGETHER = (durable, served, limited)
LAWS = (mixed, durable, names_durable, accused, served, shared, counters, besides, limited,
        held_back, foreign, syncs, verdicts)
