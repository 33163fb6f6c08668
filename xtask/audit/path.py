"""What is odd on the paths from files down to their media, from the facts in a record's header."""

import links
from vitals import MOVES_DATA, SYNCS

# What a transfer is called, in millions a second; a link of another rate cannot be named.
PCIE = (2500, 5000, 8000, 16000, 32000, 64000)
LOST = ("offline", "transport-offline")
# Limits outside of these are not those of a drive.
HEAT = (40_000, 120_000)


def oddities(tops, is_guest, writes):
    """The codes of what is odd below the first hops of paths. A virtual machine's links are not
    judged, and a write cache that is off concerns only what writes."""
    codes = (code for top in tops for hop, above in with_those_above(top, ())
             for code in of_hop(hop, above, is_guest, links.hops(top)))
    return [code for code in codes if writes or code != "WriteCacheOff"]


def with_those_above(hop, above):
    """Each hop with those above it."""
    yield hop, above
    for below in hop.get("below", ()):
        yield from with_those_above(below, (*above, hop))


def nodes_of_disks(top):
    """The NUMA nodes that disks are at; None if that of one is unknown, or without a disk."""
    def nodes(hop):
        own = {hop["name"]} if hop["kind"] == "node" else set()
        return own.union(*(nodes(below) for below in hop.get("below", ())))
    each = [nodes(hop) for hop, _ in with_those_above(top, ()) if hop["kind"] == "disk"]
    return set().union(*each) if each and all(each) else None


def of_hop(hop, above, is_guest, told):
    parent = above[-1] if above else None
    start = parent["start"] if parent and parent["kind"] == "partition" else None
    match hop["kind"]:
        case "link":
            return [] if is_guest else of_link(hop, above)
        case "array":
            return of_array(hop, start)
        case "file-system":
            return of_file_system(hop)
        case "mapped":
            return of_mapped(hop)
        case "disk":
            return of_disk(hop, start, is_guest)
        case "again":
            # It can be below several partitions; all else about it is said where it is told.
            once = links.first_told(hop, told)
            found = of_hop(once, above, is_guest, ()) if once else []
            return [code for code in found if code == "Misaligned"]
    return []


def less(one, other):
    """Whether `one` is known to be less than `other` in rate or in lanes."""
    pairs = ((one[key], other[key]) for key in ("rate", "lanes"))
    return any(a is not None and b is not None and a < b for a, b in pairs)


def has_name(bus, speed):
    return speed["rate"] is not None and (bus != "PCIe" or speed["rate"] in PCIE)


def possible(link):
    """What a link could do."""
    device, port = link["device_most"], link["port_most"]
    # Without a setting, a SATA port does not tell what it can.
    if link.get("is_port_free"):
        return device
    return {key: min(device[key], port[key]) if None not in (device[key], port[key]) else None
            for key in ("rate", "lanes")}


def is_port_slow(link, above):
    """Whether the port limits the link."""
    device, port = link["device_most"], link["port_most"]
    if links.is_contradictory(link):
        return False
    if not (less(port, device) and all(has_name(link["bus"], end) for end in (port, device))):
        return False
    # A port that is no narrower than a link nearer to the disk limits nothing.
    own, nearer = links.carries(link), [links.carries(hop) for hop in above]
    return own is None or all(most is None or most > own for most in nearer)


def of_link(link, above):
    now, best = link["now"], possible(link)
    is_bulk_only = link.get("driver") == "usb-storage" and link.get("queues")
    found = []
    is_slower = less(now, best) and not links.is_contradictory(link)
    if is_slower and has_name(link["bus"], now) and has_name(link["bus"], best):
        found.append("LinkDowngraded")
    if is_port_slow(link, above) or is_bulk_only:
        found.append("SlowPort")
    return found


def of_array(array, start):
    found = ["Degraded"] if array["degraded"] else []
    if array["action"] in SYNCS:
        found.append("Rebuilding")
    stripe = array.get("stripe")
    if array["level"] in ("raid4", "raid5", "raid6") and stripe and start is not None:
        found += ["Misaligned"] if start % stripe else []
    return found


def of_file_system(hop):
    found = ["Degraded"] if hop["missing"] else []
    return found + (["Rebuilding"] if hop["operation"] in MOVES_DATA else [])


def of_mapped(hop):
    if hop["maker"] == "LVM snapshot":
        return ["CopyOnWrite"]
    lost = any(map(is_lost, hop.get("below", ())))
    return ["Degraded"] if hop["maker"] == "multipath" and lost else []


def is_lost(hop):
    """Whether it is a disk that the OS cannot reach, such as one path of several."""
    return hop["kind"] == "disk" and hop.get("state") in LOST


def of_disk(disk, start, is_guest):
    found = []
    block, shift = disk["physical_block"], disk["alignment_offset"] or 0
    if start is not None and block and shift >= 0 and (start - shift) % block:
        found.append("Misaligned")
    now, most = disk["temperature"], disk["temperature_most"]
    if now is not None and most is not None and HEAT[0] <= most <= HEAT[1] and now >= most:
        found.append("Hot")
    if disk.get("cache_off") and disk["rotational"] and not is_guest:
        found.append("WriteCacheOff")
    return found
