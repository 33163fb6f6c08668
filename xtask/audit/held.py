"""Compares ioassay's answer with the audit's, value by value."""

import functools
import re
from collections import Counter

import told

# Sums in a different order differ in the last digits.
TOLERANCE = 1e-9
INDEX = re.compile(r"\[[0-9]*\]")


class Held:
    """The compared values and their mismatches."""

    def __init__(self):
        self.by_kind = Counter()
        self.mismatches = []
        self.not_audited = Counter()
        self.undecided = []
        self.numbers = 0
        self.numbers_audited = 0

    def hold(self, said, found, path=""):
        """Compares `said`, a part of ioassay's JSON, with `found`. Values that are missing in
        `found` count as not audited."""
        if path.endswith("findings"):
            self.hold_findings(said, found, path)
        elif isinstance(said, dict) and isinstance(found, dict):
            for name, value in said.items():
                below = f"{path}.{name}" if path else name
                if name in found:
                    self.hold(value, found[name], below)
                else:
                    self.leave(value, below)
            for name in found:
                if name not in said:
                    self.differ(f"{path}.{name}" if path else name, "nothing", found[name])
        elif isinstance(said, list) and isinstance(found, list):
            if len(said) != len(found):
                self.differ(path, f"{len(said)} entries", f"{len(found)} entries")
            for number, (one, other) in enumerate(zip(said, found)):
                self.hold(one, other, f"{path}[{number}]")
        else:
            self.hold_leaf(said, found, path)

    def hold_findings(self, said, found, path):
        """Compares findings by their code and severity, and their rows in any order: the worst
        comes first, and by how much it is the worst is not audited."""
        said = {(one["code"], one["severity"]): one for one in said}
        found = {(one["code"], one["severity"]): one for one in found}
        for code in sorted(said.keys() | found.keys()):
            below = f"{path}.{code[0]}"
            if code not in said:
                self.differ(below, "nothing", found[code]["severity"])
            elif code not in found:
                self.differ(below, said[code]["severity"], "nothing")
            else:
                for name, value in said[code].items():
                    if name in ("cases", "baselines") and name in found[code]:
                        self.hold(sorted(value), sorted(found[code][name]), f"{below}.{name}")
                    elif name == "message" and told.KEY in found[code]:
                        self.hold_numbers(value, *found[code][told.KEY], f"{below}.{name}")
                    elif name in found[code]:
                        self.hold(value, found[code][name], f"{below}.{name}")
                    else:
                        self.leave(value, f"{path}[].{name}")

    def hold_numbers(self, message, numbers, names, path):
        """Compares the numbers in a message, in their order."""
        self.by_kind[kind(path)] += 1
        if not told.agree(message, numbers, names):
            self.differ(path, message, numbers)

    def hold_leaf(self, said, found, path):
        self.by_kind[kind(path)] += 1
        if is_number(said):
            self.numbers += 1
            self.numbers_audited += 1
        if isinstance(said, float) and is_number(found):
            if abs(said - found) > TOLERANCE * max(abs(said), abs(found)):
                self.differ(path, said, found)
        elif is_number(said) != is_number(found) or said != found:
            # Counts, words and unknown values must be equal.
            self.differ(path, said, found)

    def leave(self, said, path):
        """Counts values that the audit does not recompute."""
        if isinstance(said, dict):
            for name, value in said.items():
                self.leave(value, f"{path}.{name}")
        elif isinstance(said, list):
            for value in said:
                self.leave(value, f"{path}[]")
        else:
            self.not_audited[shape(path)] += 1
            self.numbers += is_number(said)

    def differ(self, path, said, found):
        self.mismatches.append((path, brief(said), brief(found)))

    @property
    def coverage(self):
        """The share of the JSON's numbers that were recomputed."""
        return self.numbers_audited / self.numbers if self.numbers else 1.0


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def brief(value):
    text = str(value)
    return text if len(text) <= 120 else text[:117] + "..."


@functools.cache
def shape(path):
    """A path without its indices."""
    return INDEX.sub("[]", path)


KINDS = (
    ("verdict", ("verdict",)),
    ("finding", ("findings",)),
    ("percentile", ("latency_ns", "latency_ns_intervals", "sync_latency_ns",
                    "sync_latency_ns_intervals")),
    ("ceiling", ("ceiling", "of_memory", "is_ceiling")),
    ("comparison", ("comparisons", "control")),
    ("trial", ("trials",)),
    ("answer", ("answer", "counting", "touching", "levels", "saturations",
                "loads", "depths", "interferences", "loaded_latencies")),
    ("fact", ("case", "host", "storage", "source_storage", "fixtures", "tool", "peers", "skips",
              "calibrated", "id", "role")),
    ("interval", ("low", "high")),
)


@functools.cache
def kind(path):
    """The kind of value at a path of the JSON."""
    names = shape(path).replace("[]", "").split(".")
    for told, among in KINDS:
        if any(name in among for name in names):
            return told
    return "figure"
