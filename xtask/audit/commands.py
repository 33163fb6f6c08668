"""Records of commands: what served each, and the figures that follow from its counters alone.

The rest of such a record is not audited: its axes are those of no work on a file or on memory."""

from statistics import median

NOISE = 0.01
# What devices read for programs and directories, which nobody evicts.
READ_NOISE = 64 << 10
WARM_LEAST = 0.999


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
        ways = (file.get("opens", {}).get("reading", 0), copies.get("source", 0),
                copies.get("cloned_source", 0), maps.get("shared", 0), maps.get("private", 0))
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
        if any(file.get("mappings", {}).values()) or copies.get("source", 0) \
                or copies.get("cloned_source", 0):
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
    pairs = [(read, asked(facts, trial), trial) for read, trial in zip(reads, trials)]
    if all(read <= most_of_nothing(facts, wanted, trial) for read, wanted, trial in pairs):
        return "page-cache"
    return "device" if all(is_whole(*pair) for pair in pairs) else "mixed"


def most_of_nothing(facts, wanted, trial):
    """What devices read at most if they read nothing of the files."""
    if wanted is not None:
        return int(wanted * NOISE)
    seen = [trial["residency_before"], trial["residency_after"]]
    is_past = not facts or any(file.get("opens", {}).get("direct", 0) for file in read_files(facts))
    is_cached = all(one and one["cached"] >= WARM_LEAST * one["pages"] for one in seen)
    return READ_NOISE if is_cached and not is_past else 0


def is_whole(read, wanted, trial):
    """Whether devices read all that was asked for; if that is unknown, all of the files."""
    before = trial["residency_before"]
    if wanted is None and before and before["cached"] == 0:
        wanted = before["pages"] * 4096
    return wanted is not None and \
        read >= max(1, wanted - max(int(wanted * NOISE), READ_NOISE))
