"""Records of commands: what served each, and the figures that follow from its counters alone.

The rest of such a record is not audited: its axes are those of no work on a file or on memory."""

from statistics import median

import links
from comparisons import ratio_of, ratio_of_any
from intervals import estimate
from rows import level_of
from topology import exact, multiples

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
    numbers = {key(case): number for number, case in enumerate(record.cases)
               if "command" in case.axes}
    # What is measured beside commands is not audited by itself.
    return {"cases": [told(record, numbers[key_of_json(one["case"])], one)
                      if "command" in one["case"] else {"id": one["id"]}
                      for one in said["cases"]],
            "commands": [held_against(record, Beside(record, said, numbers), one)
                         for one in said["commands"]]}


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
        "read_calls": middle(trial["task_read_calls"] for trial in trials),
        "write_calls": middle(trial["task_write_calls"] for trial in trials),
        "read_call_bytes": middle(
            mean(trial["task_rchar_bytes"], trial["task_read_calls"]) for trial in trials),
        "write_call_bytes": middle(
            mean(trial["task_wchar_bytes"], trial["task_write_calls"]) for trial in trials),
        "device_read_bytes": middle(trial["task_read_bytes"] for trial in trials),
        "all_read_bytes": middle(trial["device_read_bytes"] for trial in trials),
        "dirtied_bytes": middle(trial["task_write_bytes"] for trial in trials),
        "all_written_bytes": middle(trial["device_write_bytes"] for trial in trials),
        "flushes": middle(trial["device_flushes"] for trial in trials),
        "dirty_bytes": middle(dirty(record, trial) for trial in trials),
        "left_running": middle(trial.done["exit"]["left_running"] for trial in trials
                               if trial.done.get("exit")),
    }
    # Beside the others, a program runs that does nothing, and reads no data.
    by = "no-io" if said["role"] == "baseline" else served_by(record, facts, trials)
    link = used_link(record, facts, trials, (by, (said["command"] or {}).get("durability")))
    return {"id": said["id"], "n": len(trials), "served_by": by, "command": figures, "link": link}


def used_link(record, facts, trials, kept):
    """What the links carry that a command's bytes passed, and its share of it; None unless devices
    moved all of them one way."""
    if not facts or facts.get("sampled") or facts.get("unlisted_files"):
        return None
    by, durability = kept
    sums = {name: sum(trial[f"task_{name}_bytes"] or 0 for trial in trials)
            for name in ("read", "write")}
    if by == "device" and sums["write"] <= NOISE * sums["read"]:
        way, files = "read", read_files(facts)
    elif durability == "durable" and 0 < sums["write"] and sums["read"] <= NOISE * sums["write"]:
        way = "write"
        files = [file for file in facts["files"] if file["role"] == "data" and is_written(file)]
    else:
        return None
    places = Places(record, facts)
    numbers = {places.number(file) for file in files}
    if None in numbers:
        return None
    uses = [links.held(record.host, places.storages[number], way == "write", estimate(
        [((trial.invocation, trial.round, trial.is_further), rate)
         for trial in trials
         for rate in [a_second(places.moved(trial, number, way), trial)] if rate is not None],
        level_of(record.plan))) for number in sorted(numbers)]
    return max(filter(None, uses), key=lambda use: use["share"], default=None)


class Beside:
    """The trials of cases by the names that ioassay gives them, of those of which all count."""

    def __init__(self, record, said, numbers):
        others = [number for number, case in enumerate(record.cases)
                  if "command" not in case.axes]
        left = iter(others)
        self.trials = {}
        self.numbers = {}
        for one in said["cases"]:
            is_command = "command" in one["case"]
            number = numbers[key_of_json(one["case"])] if is_command else next(left)
            trials = [trial for trial in record.trials if trial.case == number and trial.done]
            if trials and one["n"] == len(trials):
                self.trials[one["id"]] = trials
                self.numbers[one["id"]] = number


def held_against(record, beside, said):
    """What a command gets of memory and of durable writes, as far as ioassay says it."""
    found = {"case": said["case"]}
    trials = beside.trials.get(said["case"])
    if not trials:
        return found
    facts = facts_of(record, beside.numbers[said["case"]], trials)
    memory, writes, syncs = said.get("memory"), said.get("writes"), said.get("syncs")
    if memory and memory["ceiling"] in beside.trials:
        rates = by_place((trial, a_second(asked(facts, trial), trial)) for trial in trials)
        found["memory"] = {
            "rate": float(median(rates.values())) if rates else None,
            "of_ceiling": ratio_of(rates, moved_rates(beside.trials[memory["ceiling"]]))}
    if writes and writes["ceiling"] in beside.trials:
        rates = by_place((trial, a_second(trial["task_write_bytes"], trial)) for trial in trials)
        found["writes"] = {
            "of_ceiling": ratio_of_any(rates, moved_rates(beside.trials[writes["ceiling"]]))}
    if syncs and syncs["commit"] in beside.trials:
        called = sum(count for name, count in (facts or {}).get("syncs", {}).items()
                     if name != "sync_file_range")
        alone = by_place((trial, called * elapsed(trial) / sum(span["ops"] for span in trial.spans))
                         for trial in beside.trials[syncs["commit"]])
        times = by_place((trial, elapsed(trial)) for trial in trials)
        share = ratio_of_any(alone, times)
        found["syncs"] = {"syncs": called, "of_time": share, "decision": like_commits(share)}
    return found


def like_commits(share):
    """Whether syncs that would take this share of a command's time as commits are like those."""
    low, high = share["low"], share["high"]
    if low is None or high is None:
        return "undecided"
    if low >= 0.8 and high <= 1.2:
        return "yes"
    return "no" if high < 0.8 or low > 1.2 else "undecided"


def by_place(pairs):
    """Values by the place of their trial, without unknown ones."""
    return {(trial.invocation, trial.round, False): value for trial, value in pairs
            if value is not None}


def elapsed(trial):
    """From the start of the first thread to the end of the last one."""
    return max(span["end_ns"] for span in trial.spans) \
        - min(span["start_ns"] for span in trial.spans)


def a_second(moved, trial):
    return moved / elapsed(trial) * 1e9 if moved else None


def moved_rates(trials):
    """The rates of loops or writes, until the last sync has returned if there is one."""
    def rate(trial):
        start = min(span["start_ns"] for span in trial.spans)
        end = max(max(span["end_ns"], span.get("synced_ns") or 0) for span in trial.spans)
        return sum(span["bytes"] for span in trial.spans) / (end - start) * 1e9
    return by_place((trial, rate(trial)) for trial in trials)


def middle(values):
    """The median of the known values, as a whole number; None without any."""
    known = [value for value in values if value is not None]
    # Half a unit is rounded up.
    return int(median(known) + 0.5) if known else None


def mean(moved, calls):
    """The whole bytes of a call; None if either is unknown, or without a call."""
    return None if moved is None or not calls else moved // calls


def dirty(record, trial):
    seen = trial["written_after"]
    # Its files were synced before anybody looked.
    if any(span.get("synced_ns") is not None for span in trial.done["spans"]):
        return None
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


def is_read(file):
    """Whether data of a file may have been read."""
    copies, maps = file.get("copies", {}), file.get("mappings", {})
    # A file that was only opened to be cloned was not read.
    opened = max(0, file.get("opens", {}).get("reading", 0) - copies.get("cloned_source", 0))
    ways = (opened, copies.get("source", 0), maps.get("shared", 0), maps.get("private", 0))
    return file.get("bytes_before") is not None and any(ways)


def is_written(file):
    """Whether a file may have been written, and is still there."""
    copies = file.get("copies", {})
    ways = (file.get("opens", {}).get("writing", 0), file.get("mappings", {}).get("writable", 0),
            copies.get("target", 0), copies.get("cloned_target", 0))
    return not file.get("removed") and any(ways)


def read_files(facts):
    """The data files that a command read."""
    return [file for file in facts["files"] if file["role"] == "data" and is_read(file)]


def asked(facts, trial):
    """The bytes that a run asked for; None unless calls show all of them, and nothing else."""
    if not facts or facts.get("sampled") or facts.get("unseen"):
        return None
    if not reads_only_files(facts, trial["task_rchar_bytes"]):
        return None
    queues, files = facts.get("queues", {}), read_files(facts)
    if queues.get("uring", 0) or queues.get("aio", 0) or not files:
        return None
    for file in files:
        copies = file.get("copies", {})
        if any(file.get("mappings", {}).values()) or copies.get("source", 0):
            return None
    return trial["task_rchar_bytes"]


def reads_only_files(facts, returned):
    """Whether calls that returned so many bytes read hardly anything but files."""
    sources = facts.get("other_sources")
    if sources is None:
        # Older records tell only how many processes may have passed data to one another.
        return facts["processes"] <= 1
    if any(count for name, count in sources.items() if name != "kernel_files"):
        return False
    of_kernel = sources.get("kernel_files", 0) * PAGE
    return of_kernel <= max(int((returned or 0) * NOISE), READ_NOISE)


def largest(facts):
    """The largest data file of a command; None without any."""
    used = [file for file in (facts or {}).get("files", [])
            if file["role"] == "data" and (is_read(file) or is_written(file))]
    # Of equals, the last that is written, then the last that is read.
    order = [file for file in used if is_read(file)]
    order += [file for file in used if is_written(file)]
    return max(reversed(order), key=size) if order else None


class Places:
    """On which storage the files of a command are, and what the devices of each did."""

    def __init__(self, record, facts):
        self.storages = [record.storage] + (record.header.get("further_storages") or [])
        self.numbers = {int(device): number for device, number
                        in (record.header.get("storage_numbers") or {}).items()}
        # A record with one storage has that of the largest file of all commands.
        sheets = (record.header.get("rehearsals") or []) + [facts]
        each = [file for file in map(largest, sheets) if file]
        self.first = max(reversed(each), key=size) if each else None
        own = largest(facts)
        self.own = (self.number(own) or 0) if own else 0

    def number(self, file):
        """The number of a file's storage; None if that was not watched."""
        if self.numbers:
            return self.numbers.get(file["device"])
        return 0 if self.first and file["device"] == self.first["device"] else None

    def medium(self, file):
        """The medium of a file's storage; None if that was not watched."""
        number = self.number(file)
        storage = None if number is None else self.storages[number]
        return storage and storage["medium"]

    def moved(self, trial, number, way):
        """Bytes that the devices of a storage moved, no more than those of the command; None if
        either is unknown."""
        seen = trial[f"device_{way}_bytes"] if number == 0 \
            else trial["further"][number - 1][f"{way}_bytes"]
        own, times = trial[f"task_{way}_bytes"], multiples(self.storages[number], f"{way}s")
        # What is written is written so often at least.
        times = exact(times) if way == "read" else times[0]
        return None if None in (seen, own) or not times else min(own, seen // times)

    def read(self, trial, files):
        """Bytes that the devices under these files read for anyone, each once; None if not all are
        counted, or if it is unknown how often a layer reads them."""
        numbers = {self.number(file) for file in files if self.medium(file) == "block"}
        counted = 0
        for number in numbers or {self.own}:
            seen = trial["device_read_bytes"] if number == 0 \
                else trial["further"][number - 1]["read_bytes"]
            times = exact(multiples(self.storages[number], "reads"))
            if seen is None or not times:
                return None
            counted += seen // times
        return counted


def size(file):
    """The larger of a file's sizes, before and after; unknown ones are least."""
    known = [file.get("bytes_before"), file.get("bytes_after")]
    return max(-1 if bytes is None else bytes for bytes in known)


def served_by(record, facts, trials):
    """What served a command, by the counters of all its runs."""
    places = Places(record, facts)
    medium = medium_of(places, facts)
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
        seen = places.read(trial, read_files(facts) if facts else [])
        # Devices that read less for all than the OS counted for one read something else.
        if read is None or seen is None or seen < read - int(read * NOISE):
            return "unverified"
    if any(is_less(facts, trial) for trial in trials):
        return "unverified"
    nothing = [read <= most_of_nothing(facts, trial) for read, trial in zip(reads, trials)]
    if is_partly_unwatched(places, facts):
        # The counters of devices are of the storages that were watched.
        kept = all(cached_throughout(facts, trial) is not None for trial in trials)
        return "page-cache" if kept and all(nothing) else "unverified"
    if all(nothing):
        # What was in no cache and came from no device is elsewhere.
        is_elsewhere = any(loaded(facts, trial) is not None for trial in trials)
        return "unverified" if is_elsewhere else "page-cache"
    if all(is_whole(facts, trial, read) for trial, read in zip(trials, reads)):
        return "device"
    # Others may have read some of it meanwhile.
    came = [(places.read(trial, read_files(facts) if facts else []), loaded(facts, trial))
            for trial in trials]
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


def medium_of(places, facts):
    """The medium of all files that a command read; of several, block devices."""
    own = places.storages[places.own]
    own = own and own["medium"]
    media = {places.medium(file) for file in (read_files(facts) if facts else [])
             if file["bytes_before"]}
    if len(media) == 1:
        return media.pop() or own
    return own and ("block" if media else own)


def is_partly_unwatched(places, facts):
    """Whether a part of what it read, beyond noise, is on no watched storage with devices."""
    read = read_files(facts) if facts else []
    elsewhere = sum(file["bytes_before"] for file in read if places.medium(file) != "block")
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
