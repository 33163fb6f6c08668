"""Records of commands: what served each, and the figures that follow from its counters alone.

The rest of such a record is not audited: its axes are those of no work on a file or on memory."""

from statistics import median

NOISE = 0.01
# What devices read for programs and directories, which nobody evicts.
READ_NOISE = 64 << 10
# The size of the pages in which residency is counted.
PAGE = 4096


def is_of_commands(record):
    """Whether the record has commands."""
    return any("command" in case.axes for case in record.cases)


def assess(record, said):
    """The audit's answer for each case, in the order of ioassay's."""
    numbers = {key(case): number for number, case in enumerate(record.cases)}
    return {"cases": [told(record, numbers[key_of_json(one["case"])], one)
                      for one in said["cases"]]}


def key(case):
    return case.axes["command"], case.axes.get("parameters") or "", case.axes["cache"]


def key_of_json(axes):
    return axes["command"], axes.get("parameters") or "", axes["cache"]


def told(record, number, said):
    """What is recomputed of a case; only its number of trials if ioassay left some out."""
    trials = [trial for trial in record.trials if trial.case == number and trial.done]
    if said["n"] != len(trials) or not trials:
        return {"id": said["id"]}
    facts = facts_of(record, number, trials)
    figures = said["command"] and {
        "asked_bytes": middle(asked(facts, trial) for trial in trials),
        "device_read_bytes": middle(trial["task_read_bytes"] for trial in trials),
        "all_read_bytes": middle(trial["device_read_bytes"] for trial in trials),
        "dirtied_bytes": middle(trial["task_write_bytes"] for trial in trials),
        "all_written_bytes": middle(trial["device_write_bytes"] for trial in trials),
        "flushes": middle(trial["device_flushes"] for trial in trials),
        "dirty_bytes": middle(dirty(record, trial) for trial in trials),
        "left_running": middle(trial.done["exit"]["left_running"] for trial in trials
                               if trial.done.get("exit")),
    }
    return {"id": said["id"], "n": len(trials), "served_by": served_by(record, facts, trials),
            "command": figures}


def middle(values):
    """The median of the known values, as a whole number; None without any."""
    known = [value for value in values if value is not None]
    # Half a unit is rounded up.
    return int(median(known) + 0.5) if known else None


def dirty(record, trial):
    seen = trial["written_after"]
    return None if not seen or seen["dirty"] is None else seen["dirty"] * record.host["page"]


def facts_of(record, number, trials):
    """The rehearsal of a case's command, if it ended as the runs did."""
    name, parameters, _ = key(record.cases[number])
    for command, facts in zip(record.plan.get("commands", []), record.header.get("rehearsals", [])):
        told = ",".join(f"{k}={v}" for k, v in sorted(command.get("parameters", {}).items()))
        if (command["name"], told) != (name, parameters):
            continue
        end, ran = facts.get("end"), trials[0].done.get("exit")
        if end is None or ran is None:
            return facts
        alike = {"exited": ran.get("status"), "signaled": ran.get("signal")}
        kind, value = next(iter(end.items()))
        return facts if alike.get(kind) == value else None
    return None


def read_files(facts):
    """The data files that a command read."""
    def is_read(file):
        copies, maps = file.get("copies", {}), file.get("mappings", {})
        # A file that was only opened to be cloned was not read.
        opened = max(0, file.get("opens", {}).get("reading", 0) - copies.get("cloned_source", 0))
        ways = (opened, copies.get("source", 0), maps.get("shared", 0), maps.get("private", 0))
        return file.get("bytes_before") is not None and any(ways)

    return [file for file in facts["files"] if file["role"] == "data" and is_read(file)]


def asked(facts, trial):
    """The bytes that a run asked for; None unless calls of one process show all of them."""
    if not facts or facts.get("sampled") or facts.get("unseen") or facts["processes"] > 1:
        return None
    queues, files = facts.get("queues", {}), read_files(facts)
    if queues.get("uring", 0) or queues.get("aio", 0) or not files:
        return None
    for file in files:
        copies = file.get("copies", {})
        if any(file.get("mappings", {}).values()) or copies.get("source", 0):
            return None
    return trial["task_rchar_bytes"]


def served_by(record, facts, trials):
    """What served a command, by the counters of all its runs."""
    medium = record.storage and record.storage["medium"]
    reads = [trial["task_read_bytes"] for trial in trials]
    reads_none = facts and not facts.get("sampled") and not facts.get("unseen") \
        and not read_files(facts)
    if reads_none and all(read is not None and read <= READ_NOISE for read in reads):
        return "no-io"
    if medium in (None, "unseen"):
        return "unverified"
    if medium == "ram":
        return "ram"
    for trial, read in zip(trials, reads):
        seen = trial["device_read_bytes"]
        # Devices that read less for all than the OS counted for one read something else.
        if read is None or seen is None or seen < read - int(read * NOISE):
            return "unverified"
    if any(is_less(facts, trial) for trial in trials):
        return "unverified"
    nothing = [read <= most_of_nothing(facts, trial) for read, trial in zip(reads, trials)]
    if is_spread(facts):
        # The counters of devices are of one file system.
        kept = all(cached_throughout(facts, trial) is not None for trial in trials)
        return "page-cache" if kept and all(nothing) else "unverified"
    if all(nothing):
        # What was in no cache and came from no device is elsewhere.
        is_elsewhere = any(loaded(facts, trial) is not None for trial in trials)
        return "unverified" if is_elsewhere else "page-cache"
    if all(is_whole(facts, trial, read) for trial, read in zip(trials, reads)):
        return "device"
    # Others may have read some of it meanwhile.
    came = [(trial["device_read_bytes"], loaded(facts, trial)) for trial in trials]
    is_short = any(wanted is not None and not has(read, wanted) for read, wanted in came)
    return "unverified" if is_short else "mixed"


def has(read, wanted):
    """Whether as much was read as was wanted, but for noise."""
    return read >= wanted - int(wanted * NOISE)


def is_less(facts, trial):
    """Whether a run read far less by calls than its rehearsal."""
    totals = (facts or {}).get("totals") or {}
    before, now = (totals.get("io") or {}).get("rchar"), trial["task_rchar_bytes"]
    if before is None or now is None:
        return False
    return now < before // 2 and before - now > READ_NOISE


def is_spread(facts):
    """Whether the data files are on several file systems, but for noise."""
    used = [file for file in (facts or {}).get("files", []) if file["role"] == "data"]
    if not used:
        return False

    def size(file):
        after = file.get("bytes_after")
        return (after if after is not None else file.get("bytes_before")) or 0

    # Of equals, the last.
    largest = max(reversed(used), key=size)
    read = read_files(facts)
    elsewhere = sum(file["bytes_before"] for file in read if file["device"] != largest["device"])
    return elsewhere > int(sum(file["bytes_before"] for file in read) * NOISE)


def loaded(facts, trial):
    """Bytes that came into the page cache, of files of which it had nothing."""
    before, after = trial["residency_before"], trial["residency_after"]
    if not before or not after or before["cached"] or not before["pages"]:
        return None
    evicts = not facts or facts.get("sampled") \
        or any(file.get("hints", {}).get("dont_need", 0) for file in facts["files"])
    return (before["pages"] if evicts or not after["cached"] else after["cached"]) * PAGE


def cached_throughout(facts, trial):
    """Bytes of the files, if the page cache kept all of them and nothing went past it."""
    before, after = trial["residency_before"], trial["residency_after"]
    if not facts or facts.get("sampled") or not before or not after:
        return None
    for file in facts["files"]:
        if file.get("opens", {}).get("direct", 0) or file.get("hints", {}).get("dont_need", 0):
            return None
    kept = all(seen["cached"] == seen["pages"] for seen in (before, after))
    return before["pages"] * PAGE if kept else None


def most_of_nothing(facts, trial):
    """What devices read at most if they read nothing of the files."""
    wanted, kept = asked(facts, trial), cached_throughout(facts, trial)
    of_asked = int(wanted * NOISE) if wanted is not None else 0
    # A little beside files that stayed cached is of programs.
    of_kept = max(int(kept * NOISE), READ_NOISE) if kept is not None else 0
    return max(of_asked, of_kept)


def is_whole(facts, trial, read):
    """Whether devices read all that was asked for; if that is unknown, all of the files."""
    wanted, came = asked(facts, trial), loaded(facts, trial)
    if wanted is not None:
        if has(read, wanted):
            return True
        own = sum(file.get("bytes_before") or 0 for file in facts["files"]
                  if file["role"] != "data" and file.get("opens", {}).get("reading", 0))
        return came is not None and has(read, came) and has(read, max(0, wanted - own))
    if came is not None:
        return has(read, came)
    wanted = past_cache(facts)
    return wanted is not None and has(read, wanted)


def past_cache(facts):
    """Bytes of the files, if all but noise of them went past the page cache."""
    if not facts or facts.get("sampled"):
        return None
    files = read_files(facts)
    every = sum(file["bytes_before"] for file in files)
    direct = sum(file["bytes_before"] for file in files
                 if not any(file.get("mappings", {}).values())
                 and not file.get("copies", {}).get("source", 0)
                 and file.get("opens", {}).get("direct", 0)
                 >= file.get("opens", {}).get("reading", 0))
    return every if every and has(direct, every) else None
