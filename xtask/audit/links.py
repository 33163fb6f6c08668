"""What the links of a path carry at most, by arithmetic, and how much of that a row gets."""

import itertools

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import maximum_flow

import topology
from path import is_lost
from vitals import hops

# The share of bits that are data, of each bus and its rates in millions of transfers a second.
DATA = {"PCIe": {2500: 8 / 10, 5000: 8 / 10, 8000: 128 / 130, 16000: 128 / 130, 32000: 128 / 130,
                 64000: 236 / 256},
        "SATA": {1500: 8 / 10, 3000: 8 / 10, 6000: 8 / 10},
        "SAS": {1500: 8 / 10, 3000: 8 / 10, 6000: 8 / 10, 12000: 8 / 10, 22500: 128 / 150},
        "USB": {12: 1, 480: 1, 5000: 8 / 10, 10000: 128 / 132, 20000: 128 / 132}}
OF_SEVERAL_LANES = ("PCIe", "SAS")
# More than any hop carries, in kB/s, and less than a sum that scipy cannot count.
NO_LIMIT = 10**9
# What Fibre Channel carries for each Gb/s of its name, from 1 to 128.
FIBRE = 106.25e6


def carries(hop):
    """Bytes a second of a hop in one direction; None if unknown, or if nothing limits it."""
    if hop["kind"] == "interface":
        return hop["speed"] * 1e6 / 8 if hop["speed"] else None
    if hop["kind"] != "link" or is_contradictory(hop):
        return None
    return at_speed(hop["bus"], hop["now"])


def at_speed(bus, speed):
    """Bytes a second of a link of this speed; None if unknown."""
    rate = speed["rate"]
    if rate is None:
        return None
    if bus == "Fibre Channel":
        return FIBRE * rate / 1000 if 1000 <= rate <= 128_000 else None
    lanes = speed["lanes"] if bus in OF_SEVERAL_LANES else 1
    share = DATA.get(bus, {}).get(rate)
    return None if None in (lanes, share) else rate * 1e6 * lanes * share / 8


def is_contradictory(link):
    """Whether a link does more than one of its ends can."""
    return any(None not in (link["now"][key], link[end][key]) and link["now"][key] > link[end][key]
               for end in ("device_most", "port_most") for key in ("rate", "lanes"))


def in_use(hop):
    """What is below a hop and gives its bytes: no lost path, and no disk that is out of sync."""
    return [one for one in hop.get("below", ())
            if not is_lost(one) and one["name"] not in hop.get("spares", ())]


def same_as(hop):
    """What makes a hop the same one on another way down."""
    return hop["kind"], hop.get("port") or hop["name"]


def first_told(hop, told):
    """Of the hops `told`, the one that says what a hop is: itself, unless another way told it
    first; None if none does."""
    if hop["kind"] != "again":
        return hop
    return next((one for one in told if one["name"] == hop["name"] and one["kind"] != "again"),
                None)


def edges(hop, most, top, known):
    """The edges of a flow network: each hop is an edge with what it carries, in kB/s. `known` are
    the hops of which the edges are told."""
    if id(hop) in known:
        return
    known.add(id(hop))
    own = same_as(hop)
    carried = carries(hop)
    yield ("in", own), ("out", own), NO_LIMIT if carried is None else round(carried / 1000)
    for one in in_use(hop):
        one = first_told(one, hops(top)) or one
        if is_lost(one):
            continue
        most.setdefault(same_as(one), one)
        yield ("out", own), ("in", same_as(one)), NO_LIMIT
        yield from edges(one, most, top, known)
    if not in_use(hop):
        yield ("out", own), "end", NO_LIMIT


def narrowest(top):
    """The least that bytes must pass from `top` down, and the names of those hops: a smallest cut,
    the one nearest to the top. None if nothing is known of one way."""
    hops_by_key = {same_as(top): top}
    network = {}
    for one, other, most in edges(top, hops_by_key, top, set()):
        # Each hop counts once, as it is told first.
        network.setdefault((one, other), most)
    points = [("in", same_as(top)), "end"]
    points += [point for pair in network for point in pair if point not in points]
    points = list(dict.fromkeys(points))
    place = {point: index for index, point in enumerate(points)}
    capacity = np.zeros((len(points), len(points)), dtype=np.int32)
    for (one, other), most in network.items():
        capacity[place[one], place[other]] = most
    flow = maximum_flow(csr_matrix(capacity), 0, 1).flow.toarray()
    reached, left = {0}, [0]
    while left:
        new = set(np.flatnonzero((capacity - flow)[left.pop()] > 0)) - reached
        reached |= new
        left += new
    cut = [(one, other) for one, other in network
           if place[one] in reached and place[other] not in reached]
    if any(network[pair] == NO_LIMIT for pair in cut):
        return None
    hops_of_cut = [hops_by_key[one[1]] for one, _ in cut]
    return sum(map(carries, hops_of_cut)), [hop["name"] for hop in hops_of_cut]


def is_same(one, other):
    return same_as(one) == same_as(other)


def is_shared(tops, is_guest):
    """Whether two paths have a disk, or a link whose speed is known, in common. A hypervisor makes
    links up."""
    def told(hop):
        return hop["kind"] == "disk" or (not is_guest and carries(hop) is not None)
    pairs = itertools.permutations(tops, 2)
    return any(told(one) and is_same(one, other) for top, another in pairs
               for one in hops(top) for other in hops(another))


def use(row):
    """What the links carry that a row's bytes passed, and its share of it; None if its bytes passed
    none, or not all in one direction and once."""
    storage = row.storage
    top = (storage or {}).get("path")
    if not top or row.host.get("hypervisor") or topology.is_cached_loop(storage):
        return None
    is_once = row.file or (row.write and all(map(sends_once, hops(top))))
    if row.case.read_share or not is_once or not must_pass(row) or not row.throughput:
        return None
    return share_of(top, row.throughput)


def share_of(top, rate):
    """What a path carries, and the share of it that is this rate; None if it is unknown."""
    limit = narrowest(top)
    if limit is None:
        return None
    most, names = limit
    return {"bytes_per_second": most, "hops": names, "share": rate["median"] / most,
            "share_low": None if rate["low"] is None else rate["low"] / most}


def held(host, storage, writes, rate):
    """The same of what surely passed the path of a storage at this rate."""
    top = (storage or {}).get("path")
    if not top or not rate or host.get("hypervisor") or topology.is_cached_loop(storage):
        return None
    return share_of(top, rate) if not writes or all(map(sends_once, hops(top))) else None


def sends_once(hop):
    """Whether what is written is sent once, whatever it is spread over."""
    match hop["kind"]:
        case "array":
            return hop["level"] in ("raid0", "linear")
        case "mapped":
            return hop["maker"] != "LVM RAID"
        case "file-system":
            return len(hop.get("below", ())) < 2
    return True


def must_pass(row):
    """Whether a device served, or nothing shows what is below and no cache of this machine may."""
    if row.served_by == "device":
        return True
    is_past_cache = row.file and row.case.cache in ("direct", "cold")
    return row.served_by == "unverified" and row.medium == "unseen" and bool(is_past_cache)


def bound(row):
    """Whether links certainly bound a row: their protocol takes the rest."""
    least = row.link and row.link["share_low"]
    return least is not None and 0.80 <= least <= 1


def faster_than_link(row):
    """The severity if a row is certainly faster than its links: void if the devices moved so little
    of it that the links could carry that."""
    link = row.link
    if not link or link["share_low"] is None or link["share_low"] <= 1:
        return None
    moved = moved_share(row)
    return "void" if moved is not None and moved * link["share_low"] <= 1 else "doubt"


def moved_share(row):
    """The share of a row's bytes that the devices moved at most; None if they do not count."""
    if row.medium != "block" or not topology.counts_bytes(row.storage):
        return None
    of = topology.written_at_most if row.write else topology.read_once
    return row.total(lambda one: of(row.storage, one.trial),
                     lambda one: one.written_bytes if row.write else one.bytes)
