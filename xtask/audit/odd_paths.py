"""Mutated paths, machines and vitals: odd or nearly so, and of which much is unknown.

They are not among `mutations.MUTATIONS`, because they need all of it at once. Left out is what
ioassay's rules and the audit's are known to judge differently (see `Laws` in test_paths.py).
"""

import copy

import vitals


def paths(mutant):
    """Gives the storages of a record paths, and sees them before and after each part of the run."""
    header, choice = mutant.header, mutant.random.choice
    header["host"]["hypervisor"] = choice((None, None, "kvm"))
    storage = header.get("storage")
    if storage:
        storage["path"] = path(mutant, "a")
        storage["medium"] = mutant.random.choices((storage["medium"], "unseen"), (5, 1))[0]
        if choice((True, False)):
            # The same disks, others, or others behind the same link.
            name = choice(("a", "b", "c"))
            other = {**storage, "directory": "/other", "path": path(mutant, name, is_source=True)}
            place = choice(("source_storage", "further_storages"))
            header[place] = other if place == "source_storage" else [other]
    header["host"]["platform"] = platform(mutant)
    seen(mutant)
    seats(mutant)
    moved_less(mutant)


def path(mutant, letter, is_source=False):
    """A path to one disk or two. Their names depend on the letter."""
    choice = mutant.random.choice
    # The links of these two are on one root port.
    root = {"a": "0000:00:01.0", "c": "0000:00:01.0"}.get(letter, "0000:00:02.0")

    def speed():
        rate = choice((None, 480, 2500, 5000, 6000, 8000, 10000, 16000, 20000, 64000))
        return {"rate": rate, "lanes": choice((None, 1, 2, 4))}

    def link(name, bus, below):
        # Ends that say nothing are as common as ends that do.
        return {"name": name, "kind": "link", "bus": bus, "now": speed(), "device_most": speed(),
                "port_most": speed(), "driver": choice((None, "uas", "usb-storage")),
                "queues": choice((None, True, False)), "below": below}

    def node():
        known = {"name": f"node {choice((0, 1))}", "kind": "node", "below": []}
        unseen = {"name": "?", "kind": "unseen", "reason": "no", "below": []}
        return choice((known, known, unseen))

    def network():
        return {"name": f"eth-{letter}", "kind": "interface", "speed": choice((None, 1000, 10_000)),
                "full_duplex": None, "server": "::1", "bonded": [], "bond_mode": None, "below": []}

    def disk(number, is_alone):
        buses = choice((("PCIe", "PCIe"), ("SATA", "PCIe"), ("SAS", "PCIe"), ("USB", "PCIe"),
                        ("Fibre Channel", "PCIe"), ("eMMC", "PCIe")))
        ways = [[link(f"{letter}{number}", buses[0], [link(root, buses[1], [node()])])]]
        ways += [[network()]] if is_alone else []
        below = choice(ways)
        is_linked = is_alone and below[0]["kind"] == "link"
        state = choice((None, "running", "offline", "transport-offline")) if is_linked else None
        return {"name": f"sd{letter}{number}", "kind": "disk",
                "physical_block": choice((None, 512, 4096)),
                "alignment_offset": choice((None, -1, 0, 3584)),
                "temperature": choice((None, 30_000, 84_000)),
                "temperature_most": choice((None, 0, 70_000, 84_000, 65_261_850)),
                "rotational": choice((None, True, False)),
                "cache_off": choice((None, True, False)), "state": state, "below": below}

    def partition(below):
        return {"name": f"sd{letter}p1", "kind": "partition", "below": below,
                "start": choice((None, 63 * 512, 1 << 20, 3 << 20))}

    def array(below):
        return {"name": f"md{letter}", "kind": "array",
                "level": choice((None, "raid0", "raid1", "raid5", "raid6")),
                "degraded": choice((None, 0, 1)), "stripe": choice((None, 1 << 20, 3 << 19)),
                "action": choice((None, "idle", "resync", "check", "frozen")), "below": below}

    def mapped(below):
        makers = ("LVM", "LVM snapshot", "LVM RAID", "multipath")
        makers += () if is_source else ("dm-crypt", "dm-crypt")
        return {"name": f"dm-{letter}", "kind": "mapped", "maker": choice(makers), "below": below}

    is_alone = choice((True, True, False))
    below = [disk(number, is_alone) for number in range(1 if is_alone else 2)]
    layers = (partition, array, mapped) if is_alone else (array, mapped)
    for layer in mutant.random.sample(layers, mutant.random.randint(0, len(layers))):
        below = [layer(below)]
    return {"name": f"/{letter}", "kind": "file-system", "file_system": choice(("btrfs", "ext4")),
            "options": [], "source": "/dev/sda", "missing": choice((None, 0, 1)),
            "operation": choice((None, "balance", "balance paused", "resize")), "below": below}


def platform(mutant):
    """Memory and processors."""
    choice = mutant.random.choice

    def module(number):
        channel = mutant.random.choices((number, 0, None), (6, 6, 1))[0]
        return {"name": f"dimm{number}", "label": None, "channel": channel, "size": None,
                "technology": None, "corrected": None, "uncorrected": None}

    def controller(number):
        driver = mutant.random.choices(
            (f"Skylake Socket#{number // 2} IMC#{number % 2}", "ie31200", None), (12, 3, 1))[0]
        return {"name": f"mc{number}", "driver": driver, "corrected": choice((None, 0, 0, 3)),
                "uncorrected": choice((None, 0, 0, 1)),
                "modules": [module(number) for number in range(choice((2, 2, 3)))]}

    if mutant.random.random() < 0.1:
        return None
    codes = ("xts(ecb(aes-generic))", "xts(aes-generic)", "xts-aes-aesni")
    return {"controllers": [controller(number) for number in range(choice((0, 1, 2, 2, 3)))],
            "processors": {"aes": choice((None, True, False, False, False)),
                           "xts_drivers": mutant.random.sample(codes, choice((0, 1, 1, 2)))}}


def seen(mutant):
    """What was seen before and after some parts."""
    choice, header = mutant.random.choice, mutant.header
    storages = [header.get("storage"), header.get("source_storage"),
                *(header.get("further_storages") or [])]
    tops = [one["path"] for one in storages if one and one.get("path")]
    is_guest = bool(header["host"]["hypervisor"])
    now = look(mutant, tops, is_guest)
    lines = []
    for number in range(choice((0, 1, 1, 2, 3))):
        before = copy.deepcopy(now)
        now = later(mutant, before)
        lines.append({"vitals": {"invocation": number, "before": before, "after": now}})
    end = [line for line in mutant.lines if "end" in line]
    mutant.lines = [line for line in mutant.lines if "end" not in line] + lines + end


def look(mutant, tops, is_guest):
    """What was seen at first."""
    choice = mutant.random.choice

    def count():
        return mutant.random.randint(1, 1000)

    def smart():
        return {"critical_warning": 0, "temperature_k": None, "spare_percent": 100,
                "used_percent": 0, "media_errors": count(), "warning_minutes": count(),
                "critical_minutes": count(), "slowed_times": [count(), count()],
                "slowed_s": [count(), count()]}

    def caps():
        return {"iops_us": count(), "throughput_us": count()}

    drives = [{"name": f"nvme{number}n1", "smart": choice((None, smart())),
               "capped": choice((None, {"volume": choice((None, caps())), "instance": caps()}))}
              for number in range(choice((0, 1, 2)))]
    throttles = {"cpus": 2, "core": count(), "package": count(), "core_ms": None}
    errors = {"controllers": 2, "corrected": count(), "uncorrected": count()}
    return {"at_ms": 0, "paths": copy.deepcopy(tops), "drives": drives,
            "throttles": choice((None, throttles)),
            "memory_errors": None if is_guest else choice((None, errors)), "idle_states": []}


def later(mutant, before):
    """The same at another time: counters grow, go back or are missing, and paths change."""
    choice, after = mutant.random.choice, copy.deepcopy(before)
    after["at_ms"] += 10_000

    def grown(told, names):
        for name in names:
            more = mutant.random.choices((0, 1, 5, -1), (12, 1, 1, 1))[0]
            if isinstance(told[name], list):
                told[name][mutant.random.randint(0, 1)] += more
            else:
                told[name] += more

    for drive in after["drives"]:
        if drive["smart"]:
            grown(drive["smart"], ("media_errors", "warning_minutes", "critical_minutes",
                                   "slowed_times", "slowed_s"))
        for kind in ("volume", "instance"):
            if drive["capped"] and drive["capped"][kind]:
                grown(drive["capped"][kind], ("iops_us", "throughput_us"))
    for name, whole, counts in (("throttles", "cpus", ("core", "package")),
                                ("memory_errors", "controllers", ("corrected", "uncorrected"))):
        if after[name]:
            grown(after[name], counts)
            after[name][whole] += mutant.random.choices((0, 1), (5, 1))[0]
    for name in ("throttles", "memory_errors"):
        after[name] = mutant.random.choices((after[name], None), (9, 1))[0]
    if mutant.random.random() < 0.1:
        after["drives"] = after["drives"][1:]
    for hop in (hop for top in after["paths"] for hop in vitals.hops(top)):
        match hop["kind"]:
            case "link":
                hop["now"]["rate"] = choice((hop["now"]["rate"], None, 2500, 8000, 16000))
                hop["now"]["lanes"] = choice((hop["now"]["lanes"], hop["now"]["lanes"], 4))
            case "disk":
                hop["temperature"] = choice((hop["temperature"], None, 71_000))
            case "array":
                hop["action"] = choice((hop["action"], hop["action"], None, "idle", "recover"))
            case "file-system" if hop["operation"] != "balance paused":
                others = (hop["operation"], hop["operation"], None, "device add")
                hop["operation"] = choice(others)
    return after


def seats(mutant):
    """Places the threads of cases on one of two nodes, or on both."""
    cases = {}
    for trial in mutant.done(1.0):
        at = cases.setdefault(trial["case"], mutant.random.choice(((0,), (1,), (0, 1), None)))
        for span in trial["outcome"]["done"]["spans"]:
            for end in ("start_seat", "end_seat"):
                node = at and mutant.random.choice(at)
                span[end] = None if at is None else {"cpu": node, "node": node}


def moved_less(mutant):
    """The devices moved a part of what the worker was told to be from them."""
    share = mutant.random.choice((None, None, 0.02, 0.5))
    for trial in mutant.done() if share else []:
        for name in ("device_read_bytes", "device_write_bytes"):
            if trial["evidence"].get(name) is not None:
                trial["evidence"][name] = int(share * trial["evidence"][name])
