"""What changed while a run went on, from what was seen before and after each of its parts: an
invocation, or what was left of one."""

import copy

# What moves data of a file system, and what keeps the disks of an array busy.
MOVES_DATA = ("balance", "device add", "device remove", "device replace", "resize")
SYNCS = ("resync", "recover", "reshape", "check", "repair")


def looks(parts):
    """Each moment at which something was seen, in their order."""
    return [look for part in parts for look in (part["before"], part["after"])]


def hops(hop):
    """A hop, and all below it."""
    yield hop
    for below in hop.get("below", ()):
        yield from hops(below)


def most(values):
    """The largest of the known values; None without any."""
    return max((value for value in values if value is not None), default=None)


def least(values):
    """The smallest of the known values; None without any."""
    return min((value for value in values if value is not None), default=None)


def in_use(top, parts):
    """A path with the fastest rate of each link of PCIe, because one that rests may be slower, with
    the slowest of each other link, which does not rest, and with the highest temperature of each
    disk. No rest takes lanes: with others, it is another link."""
    seen = {}
    for hop in (hop for look in looks(parts) for path in look["paths"] for hop in hops(path)):
        seen.setdefault((hop["kind"], hop["name"]), []).append(hop)
    used = copy.deepcopy(top)
    for hop in hops(used):
        others = seen.get((hop["kind"], hop["name"]), [])
        if hop["kind"] == "disk":
            hop["temperature"] = most([hop["temperature"], *(one["temperature"] for one in others)])
        elif hop["kind"] == "link":
            same = [one["now"]["rate"] for one in others
                    if (one["bus"], one["now"]["lanes"]) == (hop["bus"], hop["now"]["lanes"])]
            of = most if hop["bus"] == "PCIe" else least
            hop["now"]["rate"] = of([hop["now"]["rate"], *same])
    return used


def changes(parts, is_guest):
    """The codes of what happened."""
    found = {"Hot": is_hot(parts), "Capped": is_capped(parts), "Rebuilding": is_rebuilt(parts),
             "HardwareErrors": has_errors(parts, is_guest)}
    return [code for code, is_so in found.items() if is_so]


def growth(parts, of):
    """By how much a counter grew in all parts whose ends tell it; 0 if it went back in one."""
    grown = 0
    for part in parts:
        before, after = of(part["before"]), of(part["after"])
        if before is None or after is None:
            continue
        if after < before:
            return 0
        grown += after - before
    return grown


def are_alike(parts, of):
    """Whether as many counted at both ends of each part."""
    return all(of(part["before"]) == of(part["after"]) for part in parts)


def part_of(look, name, count):
    """One count of what a look tells as a whole or not at all."""
    return look[name] and look[name][count]


def drives(parts):
    """The names of the drives that count anything."""
    return sorted({log["name"] for look in looks(parts) for log in look["drives"]})


def pages(parts, kind):
    """For each drive, how to find its page of this kind in a look."""
    def page_of(name):
        def of(look):
            logs = [log[kind] for log in look["drives"] if log["name"] == name]
            return logs[0] if logs else None
        return of
    return [page_of(name) for name in drives(parts)]


def grown(parts, page, count):
    """By how much `count` of a page grew."""
    def of(look):
        return None if page(look) is None else count(page(look))
    return growth(parts, of)


def is_hot(parts):
    """Whether a drive or a CPU slowed itself down, or may have."""
    counts = (lambda page: sum(page["slowed_times"]), lambda page: sum(page["slowed_s"]),
              lambda page: page["warning_minutes"], lambda page: page["critical_minutes"])
    if any(grown(parts, page, count) for page in pages(parts, "smart") for count in counts):
        return True
    return throttled(parts) > 0


def throttled(parts):
    """How often CPUs slowed themselves down."""
    def events(look):
        told = look["throttles"]
        return told and told["core"] + (told["package"] or 0)

    are_same = are_alike(parts, lambda look: part_of(look, "throttles", "cpus"))
    return growth(parts, events) if are_same else 0


def is_capped(parts):
    """Whether a limit of the cloud held a volume back."""
    def of(whose, what):
        return lambda page: page[whose] and page[whose][what]
    counts = [of(whose, what) for whose in ("volume", "instance")
              for what in ("iops_us", "throughput_us")]
    return any(grown(parts, page, count) for page in pages(parts, "capped") for count in counts)


def has_errors(parts, is_guest):
    """Whether memory or the medium of a drive had errors."""
    def media(page):
        return page["media_errors"]
    if any(grown(parts, page, media) for page in pages(parts, "smart")):
        return True
    return any(memory_errors(parts, is_guest))


def memory_errors(parts, is_guest):
    """How many errors memory had, corrected and others. A hypervisor makes modules up."""
    are_same = are_alike(parts, lambda look: part_of(look, "memory_errors", "controllers"))
    if is_guest or not are_same:
        return [0, 0]
    return [growth(parts, lambda look: part_of(look, "memory_errors", kind))
            for kind in ("corrected", "uncorrected")]


def is_rebuilt(parts):
    """Whether something that an array or a file system does beside its work began or ended, also
    between two parts."""
    told = [work_beside(look) for look in looks(parts)]
    return any(now[name] != then[name]
               for then, now in zip(told, told[1:]) for name in now.keys() & then.keys())


def work_beside(look):
    """What each array and btrfs does beside its work, by name: nothing if it is idle. What does not
    tell is left out, and what moves nothing, such as a balance that is paused, is nothing."""
    does = {}
    for hop in (hop for path in look["paths"] for hop in hops(path)):
        if hop["kind"] == "array" and hop["action"] in SYNCS + ("idle",):
            does.setdefault(hop["name"], None if hop["action"] == "idle" else hop["action"])
        if hop["kind"] == "file-system" and hop["file_system"] == "btrfs":
            is_busy = hop["operation"] in MOVES_DATA
            does.setdefault(hop["name"], hop["operation"] if is_busy else None)
    return does
