"""The path from a file system to its devices: byte multiples and counters."""

ONE = (1, 1)
# Why a sync does nothing at all: a mount option, or what a canary file showed.
DROPS = ("volatile", "fsync=volatile", "a sync there writes nothing")
BARRIERS_OFF = DROPS + ("nobarrier", "barrier=0", "barrier=none", "fsync_mode=nobarrier",
                        "journal_flush_disabled", "nostrictsync")


def nodes(storage):
    """The names of all known devices that the bytes pass, also below the files of loop devices."""
    found = {limit["device"] for limit in storage.get("limits") or []}
    for layer in storage.get("layers") or []:
        found.update(layer["nodes"])
    devices = list(storage["devices"])
    while devices:
        device = devices.pop()
        found.add(device["name"])
        below = device.get("file") or {"disks": [], "devices": []}
        found.update(below["disks"])
        devices.extend(below["devices"])
    return found


def limits(storage, trial):
    """The limits on a storage's devices in a trial; in older records, those at the start."""
    if not storage:
        return []
    seen = trial["limits"]
    if seen is None:
        return storage.get("limits") or []
    return [limit for limit in seen if limit["device"] in nodes(storage)]


def limits_of_any(storage, trials):
    """Each limit that held in any of the trials, once."""
    found = []
    for trial in trials:
        found.extend(limit for limit in limits(storage, trial) if limit not in found)
    return found


def times(layer, way):
    told = layer[way]
    return told["least"], told.get("most")


def own_writes_most(storage):
    """How often the devices write a byte at most: it may be in the journal first, which older
    records tell only where the mount options do."""
    most = multiples(storage, "writes")[1]
    is_twice = (storage or {}).get("journals_data")
    if is_twice is None:
        is_twice = has_option(storage, "data=journal")
    return None if most is None else most * (2 if is_twice else 1)


def syncs_each_write(storage, case):
    """Whether each write waits until it is stored, by a mount option or the flag of the files. A
    store to a mapping does not wait."""
    is_synced = has_option(storage, "sync") or (storage or {}).get("syncs_writes") is True
    return case.engine != "mmap" and is_synced


def has_option(storage, option):
    return bool(storage) and option in storage["mount_options"].split(",")


def exact(least_and_most):
    least, most = least_and_most
    return most if most is not None and most == least else None


def may_count(layer):
    counts = layer.get("counts") or {}
    return counts.get("reads") is not False and counts.get("writes") is not False


def watched(storage):
    """The lowest layer with counters and a known byte multiple."""
    def rank(layer):
        is_exact = all(exact(times(layer, way)) is not None for way in ("reads", "writes"))
        return may_count(layer), is_exact
    layers = (storage or {}).get("layers") or []
    return max(layers, key=rank) if layers else None


def multiples(storage, way):
    """How often the watched devices move a byte: minimum and maximum."""
    if not storage:
        return ONE
    layer = watched(storage)
    if layer:
        return times(layer, way)
    # Older records only list the devices at the bottom.
    return (1, None) if len(storage["devices"]) > 1 else ONE


def flushes_of_a_sync(storage):
    """How many flushes the bottom devices count for one flush of the file system."""
    layers = (storage or {}).get("layers") or []
    if not layers or len(layers[-1]["nodes"]) != 1 or exact(times(layers[0], "writes")) is None:
        return 1
    caching = {one["name"] for one in storage["devices"] if one.get("write_cache") == "write back"}
    return max(1, sum(name in caching for name in layers[0]["nodes"]))


def counts_bytes(storage):
    layer = watched(storage)
    return layer is None or may_count(layer)


def barriers_are_off(storage):
    if storage.get("barriers_off"):
        return True
    return any(option in BARRIERS_OFF for option in storage["mount_options"].split(","))


def weak_parts(storage):
    """Parts that a power cut takes or that cannot be seen; older records have none."""
    return (storage or {}).get("weak_parts") or []


def lost_parts(storage):
    """Those in memory whose content no disk has."""
    return [part for part in weak_parts(storage) if part["device"] and not part["is_copied"]]


def has_unseen_parts(storage):
    return any(not part["device"] and not part["is_copied"] for part in weak_parts(storage))


def has_data_in_memory(storage):
    return any(part["device"] and part["holds"] == "data" for part in weak_parts(storage))


def is_flush_stopped(storage):
    """Whether a device above another with a cache says that it has none."""
    return any(who.endswith("(write through)") for who in storage.get("barriers_off") or [])


def has_volatile_cache(storage):
    """Whether what is not flushed stays in a cache, of a device or of the OS below one."""
    def has(device):
        below = (device.get("file") or {}).get("devices") or []
        return (device.get("write_cache") == "write back" or device.get("loop_direct") is False
                or any(map(has, below)))
    return any(map(has, storage["devices"]))


def drops_syncs(storage):
    told = storage.get("barriers_off") or []
    return (any(mount.endswith(f"({why})") for mount in told for why in DROPS)
            or any(option in DROPS for option in storage["mount_options"].split(",")))


def read_once(storage, trial):
    """The devices' reads for anyone, each byte once; None if unknown."""
    often, told = exact(multiples(storage, "reads")), trial["device_read_bytes"]
    return told // often if often and told is not None else None


def read_by_others(storage, trial):
    """The devices' reads for others than the case and its actors, at least; None if unknown."""
    task, device = trial["task_read_bytes"], read_once(storage, trial)
    if task is None or device is None:
        return None
    return max(0, device - task - (trial["unsure_read"] or 0))


def read_ahead_most(storage):
    """The most that the OS reads ahead of a thread; None if unknown."""
    window = (storage or {}).get("read_ahead")
    if window is None and storage:
        known = [one["read_ahead"] for one in storage["devices"] if one["read_ahead"] is not None]
        window = max(known, default=None)
    return window


def written_at_most(storage, trial):
    """The devices' writes for anyone, divided by the minimum number of writes per byte."""
    least, told = multiples(storage, "writes")[0], trial["device_write_bytes"]
    if not least or told is None:
        return None
    below = trial["disk_write_bytes"]
    return told // least if below is None else min(told // least, below)


def disks(devices):
    """The devices at the bottom, below loop devices as well."""
    for device in devices:
        below = device.get("file")
        yield from disks(below["devices"]) if below else [device]


def and_below(devices):
    """Devices, and those below the files of loop devices."""
    for one in devices or []:
        yield one
        yield from and_below((one.get("file") or {}).get("devices"))


def is_cached_loop(storage):
    devices = and_below((storage or {}).get("devices"))
    return any(one.get("loop_direct") is False for one in devices)


def followed(device):
    """The names of the disks that count what a device moves."""
    if device.get("file"):
        return device["file"]["disks"]
    return [device["name"]] if device.get("loop_direct") is None else []


def below_loops(storage):
    """The one disk below loop devices that are all the watched counters are of, or None."""
    devices = (storage or {}).get("devices") or []
    loops = {one["name"] for one in devices if one.get("loop_direct") is not None}
    layer = watched(storage)
    nodes = layer["nodes"] if layer else [one["name"] for one in devices]
    each = [followed(one) for one in devices]
    if not loops or not set(nodes) <= loops or not counts_bytes(storage) or not all(each):
        return None
    names = {name for some in each for name in some}
    return names.pop() if len(names) == 1 else None


def disk_writes_most(devices):
    """How often the disk below writes a byte of a loop device at most; None if nothing bounds it."""
    most = 0
    for device in devices:
        below = device.get("file")
        copies = 1
        if below:
            system, journals = below["file_system"], below.get("journals_data")
            if system == "ext4":
                copies = {True: 2, False: 1}.get(journals)
            elif system not in ("ext2", "xfs", "block device"):
                copies = None
            deeper = disk_writes_most(below["devices"])
            copies = None if None in (copies, deeper) else copies * deeper
        if copies is None:
            return None
        most = max(most, copies)
    return most or None
