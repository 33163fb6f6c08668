"""What is odd about the memory and the processors of a machine, from the facts in a header."""

import vitals


def oddities(host, tops):
    """The codes; `tops` are the first hops of the run's paths. A hypervisor makes modules up, but
    not the code that computes."""
    platform = host.get("platform")
    if not platform:
        return []
    found = []
    controllers = platform.get("controllers", [])
    if not host.get("hypervisor"):
        found += ["ChannelsEmpty"] if has_empty_channels(controllers) else []
        found += ["MemoryErrors"] if has_errors(controllers) else []
    return found + (["SoftwareAes"] if computes_aes(platform, tops) else [])


def has_empty_channels(controllers):
    """Whether a controller has modules in fewer channels than another of its kind."""
    return any(len(set(counts)) > 1 for counts in filled_channels(controllers).values())


def filled_channels(controllers):
    """In how many channels each controller has modules, by kind: of the same name, but for numbers.
    If one does not tell, nothing is known."""
    kinds = {}
    for one in controllers:
        filled = {module["channel"] for module in one.get("modules", [])}
        if one["driver"] is None or None in filled:
            return {}
        kind = "".join(letter for letter in one["driver"] if letter not in "0123456789")
        kinds.setdefault(kind, []).append(len(filled))
    return kinds


def has_errors(controllers):
    return any(one[kind] for one in controllers for kind in ("corrected", "uncorrected"))


def computes_aes(platform, tops):
    """Whether a disk is encrypted, and the kernel has nothing but its generic code for it."""
    processors = platform.get("processors") or {}
    codes = processors.get("xts_drivers", [])
    is_generic = bool(codes) and all("generic" in code for code in codes)
    is_encrypted = any(hop["kind"] == "mapped" and hop["maker"] == "dm-crypt"
                       for top in tops for hop in vitals.hops(top))
    return is_encrypted and is_generic and processors.get("aes") is False
