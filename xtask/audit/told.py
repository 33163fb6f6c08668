"""The numbers in the messages of findings on paths, machines and what changed in a run.

A message is about the first hop that has the finding, except for what changed, which comes first.
"""

import re

import links
import machine
import path
import vitals

# Where a finding of the audit has the numbers of its message, and names that are none.
KEY = "numbers"
# What a number is a multiple of, by the unit after it.
UNITS = {"kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12, "B/s": 1,
         "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40, "%": 0.01,
         "ns": 1e-9, "µs": 1e-6, "ms": 1e-3}
GENERATIONS = {2500: 1, 5000: 2, 8000: 3, 16000: 4, 32000: 5, 64000: 6}
NUMBER = re.compile(r"(?<![\w.])x?(\d+(?:\.(\d+))?)(?: ?(" + "|".join(map(re.escape, UNITS))
                    + r")(?!\w))?(?!\w)|(?<=: )(once)\b|(?<=it )(once)\b")


def matches(message, names):
    """Where the numbers of a message are. Names are not numbers."""
    def blank(match):
        return " " * len(match[0])
    for name in sorted(filter(None, names), key=len, reverse=True):
        message = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", blank, message)
    message = re.sub(r"slot \S+|\braid\d+", blank, message)
    return list(NUMBER.finditer(message))


def numbers(message, names):
    """The numbers in a message, each with how far it may be from what it rounds."""
    found = []
    for match in matches(message, names):
        number, decimals, unit, *_ = match.groups()
        of = UNITS.get(unit, 1)
        # The words for one are rounded by nothing.
        found.append((1, 0) if number is None else
                     (float(number) * of, 0.501 * of * 10.0 ** -len(decimals or "")))
    return found


def agree(message, expected, names):
    """Whether the numbers in a message are those expected, in their order."""
    found = numbers(message, names)
    return len(found) == len(expected) and all(
        abs(number - other) <= most for (number, most), other in zip(found, expected))


def speed(bus, told):
    """A speed of a link as it is told, with what it carries."""
    rate, lanes = told["rate"], told["lanes"]
    if bus == "PCIe":
        said = [GENERATIONS[rate]] + ([] if lanes is None else [lanes])
    elif bus == "USB" and rate < 1000:
        said = [rate]
    else:
        said = [rate / 1000] + ([lanes] if bus == "SAS" and (lanes or 0) > 1 else [])
    most = links.at_speed(bus, told)
    return said + ([] if most is None else [most])


def of_hop(code, hop, above):
    """The numbers of a finding on a hop."""
    match code, hop["kind"]:
        case "LinkDowngraded", _:
            return speed(hop["bus"], hop["now"]) + speed(hop["bus"], path.possible(hop))
        case "SlowPort", _ if path.is_port_slow(hop, above):
            return [number for end in ("device_most", "port_most")
                    for number in speed(hop["bus"], hop[end])]
        case "Degraded", "array" if hop["action"] != "recover" or not hop.get("spares"):
            return [hop["degraded"]] + ([hop["disks"]] if hop.get("disks") is not None else [])
        case "Degraded", "file-system":
            return [hop["missing"]]
        case "Degraded", "mapped":
            return [sum(map(path.is_lost, hop["below"])), len(hop["below"])]
        case "Rebuilding", "array":
            return [hop["done"] / 1000] if hop.get("done") is not None else []
        case "Misaligned", "array":
            return [hop["stripe"]]
        case "Misaligned", _:
            return [hop["physical_block"]]
        case "Hot", _:
            return [hop[name] / 1000 for name in ("temperature", "temperature_most")]
    return []


def of_paths(tops, is_guest):
    """For each code on paths, the numbers of the first hop that has it."""
    told = {}
    for top in tops:
        for hop, above in path.with_those_above(top, ()):
            once = links.first_told(hop, links.hops(top))
            for code in path.of_hop(hop, above, is_guest, links.hops(top)):
                if code not in told:
                    told[code] = of_hop(code, once, above)
    return told


def of_machine(controllers):
    """The channels with modules of each controller that has fewer than others of its kind, with the
    most of those, and the errors of memory by the drivers' counts."""
    kinds = machine.filled_channels(controllers)
    counts = [(filled, max(alike)) for _, alike in sorted(kinds.items()) for filled in alike]
    empty = [number for pair in counts if pair[0] < pair[1] for number in pair]
    sums = [sum(one[kind] or 0 for one in controllers) for kind in ("corrected", "uncorrected")]
    return {"ChannelsEmpty": empty, "MemoryErrors": [count for count in sums if count]}


def of_changes(parts, is_guest):
    """For each code of what changed, its numbers."""
    by_name = [dict(zip(vitals.drives(parts), vitals.pages(parts, kind)))
               for kind in ("smart", "capped")]
    heat, caps, media = [], [], []
    run_us = sum(max(0, part["after"]["at_ms"] - part["before"]["at_ms"]) for part in parts) * 1000
    for name in vitals.drives(parts):
        def grown(count, page=by_name[0][name]):
            return vitals.grown(parts, page, count)
        slowed = [grown(lambda page, of=of: sum(page[of])) for of in ("slowed_times", "slowed_s")]
        minutes = max(grown(lambda page: page["warning_minutes"]),
                      grown(lambda page: page["critical_minutes"]))
        heat += [count for count in slowed if count] or ([minutes] if minutes else [])
        media += [count for count in [grown(lambda page: page["media_errors"])] if count]
        for whose in ("volume", "instance"):
            for what in ("iops_us", "throughput_us"):
                us = vitals.grown(parts, by_name[1][name], lambda page: page[whose]
                                  and page[whose][what])
                caps += [us / 1e6] + ([us / run_us] if us <= run_us else []) if us else []
    heat += [count for count in [vitals.throttled(parts)] if count]
    errors = [count for count in vitals.memory_errors(parts, is_guest) if count]
    told = {"Hot": heat, "Capped": caps, "HardwareErrors": errors + media}
    told = {code: of_it for code, of_it in told.items() if of_it}
    return {**told, **({"Rebuilding": []} if vitals.is_rebuilt(parts) else {})}


def names(record):
    """Names that messages may have."""
    hops = [hop for storage in record.on_paths for hop in vitals.hops(storage["path"])]
    platform = record.host.get("platform") or {}
    named = [hop["name"] for hop in hops] + vitals.drives(record.vitals)
    named += [name for hop in hops for name in hop.get("spares") or []]
    for controller in platform.get("controllers", []):
        named += [controller["name"], controller["driver"]]
        named += [module[name] for module in controller.get("modules", [])
                  for name in ("name", "label")]
    return named + (platform.get("processors") or {}).get("xts_drivers", [])


def of_run(record):
    """For each code but `SharedPath`, its numbers in a run."""
    is_guest = bool(record.host.get("hypervisor"))
    controllers = (record.host.get("platform") or {}).get("controllers", [])
    tops = [storage["path"] for storage in record.on_paths]
    return {**of_machine(controllers), **of_paths(tops, is_guest),
            "SoftwareAes": [], **of_changes(record.vitals, is_guest)}
