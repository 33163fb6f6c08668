"""Reads a record: a header line and one line per trial, all in JSON."""

import json
import math
import re

import beside
import buffers
import vitals

SIZES = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "TiB": 2**40,
         "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "": 1}
TIMES = {"ns": 1, "us": 10**3, "µs": 10**3, "ms": 10**6, "s": 10**9, "min": 60 * 10**9,
         "m": 60 * 10**9, "h": 3600 * 10**9}
# The step in records that lack this axis.
STEP = 4096
SIZE_AXES = {"size", "offset", "working_set", "block", "step"}
COUNT_AXES = {"stride", "depth", "threads", "rate", "ops", "every", "read_share"}
# A line of what was seen that was cut off lost no trial.
VITALS = '{"vitals"'
CLAIMS = {"fdatasync", "fsync", "msync", "dsync"}


def quantity(text, units):
    """The number of a text such as `128MiB` or `5s 500ms`, in the base unit."""
    parts = re.findall(r"([0-9.]+)\s*([a-zA-Zµ]*)", text)
    value = sum(float(number) * units[unit] for number, unit in parts)
    return int(round(value)) if abs(value - round(value)) < 1e-9 else value


class Case:
    """A measured case: its axes by name, with quantities as numbers."""

    def __init__(self, axes):
        self.axes = {}
        self.sizes = []
        for name, text in axes:
            if name == "block":
                # One size, or several with their percentages: 4KiB/60:64KiB/40.
                parts = [part.split("/") for part in text.split(":")]
                self.sizes = [(quantity(size, SIZES), int(share[0]) if share else 100)
                              for size, *share in parts]
                value = max(size for size, _ in self.sizes)
                if len(self.sizes) > 1:
                    self.axes["sizes"] = text
            elif name in SIZE_AXES:
                value = quantity(text, SIZES)
            elif name == "time":
                value = quantity(text, TIMES)
            elif name in COUNT_AXES:
                value = int(text)
            else:
                value = text
            self.axes[name] = value
        if "kernel" in self.axes:
            steps = self.axes["kernel"] in ("touch-pages", "first-touch", "read-pages")
            self.axes.setdefault("step", STEP if steps else None)
        elif "call" not in self.axes and "command" not in self.axes:
            # Older records do not say how a warm file was cached.
            cached = self.axes.get("populated", "unknown")
            self.axes["populated"] = cached if self.axes["cache"] == "warm" else None
            self.axes["pages"] = buffers.pages(self)

    def __getattr__(self, name):
        try:
            return self.__dict__["axes"].get(name)
        except KeyError:
            raise AttributeError(name) from None

    def key(self, *without):
        """The identity of the case without the axes `without`."""
        return tuple(sorted((k, v) for k, v in self.axes.items() if k not in without))

    def has_block(self, size):
        """Whether every operation has so many bytes."""
        return self.sizes == [(size, 100)]

    @property
    def least_block(self):
        return min(size for size, _ in self.sizes)

    def mean_block(self, page=1):
        """The bytes of an operation on average, in whole pages."""
        return sum(-(-size // page) * page * share for size, share in self.sizes) / 100

    @property
    def blocks(self):
        """The blocks of the file. Only how many of several sizes there are, in their shuffled
        order, is not known here: the mean decides."""
        return math.ceil(self.size / self.mean_block())

    @property
    def is_memory(self):
        return "kernel" in self.axes

    @property
    def is_write(self):
        return "op" in self.axes

    @property
    def is_read(self):
        return not self.is_memory and not self.is_write

    @property
    def has_huge_buffers(self):
        return not self.is_memory and self.pages == "huge"

    @property
    def claims_durable(self):
        return self.is_write and self.sync in CLAIMS

    @property
    def is_direct(self):
        return self.cache == "direct"

    @property
    def is_null(self):
        return self.engine == "null"


class Trial:
    """One trial from its line."""

    def __init__(self, line):
        self.case = line["case"]
        # Older records have a single invocation.
        self.invocation = line.get("invocation", 0)
        self.round = line["round"]
        self.line = line
        outcome = line["outcome"]
        self.fate = next(iter(outcome)) if isinstance(outcome, dict) else outcome
        told = outcome[self.fate] if isinstance(outcome, dict) else None
        self.done = told if self.fate == "done" else None
        self.told = told
        self.evidence = line.get("evidence") or {}
        self.beside = line.get("beside") or []
        self.read_back = line.get("read_back")
        self.expected_digest = line.get("expected_digest")
        self.spans = self.done["spans"] if self.done else []

    def __getitem__(self, name):
        """A counter of the OS; None if unknown."""
        return self.evidence.get(name)


class Record:
    """A complete record."""

    def __init__(self, lines):
        self.header = None
        # What each invocation after the first began with.
        self.invocations = []
        self.trials = []
        # What was seen before and after each part of the run.
        self.vitals = []
        self.end = "missing"
        self.unread = 0
        # Each case has one trial per round, and nothing counts after the end.
        seen, ended, is_cut = set(), False, False
        for line in lines:
            was_cut, is_cut = is_cut, False
            try:
                value = json.loads(line)
            except ValueError:
                is_cut = bool(line.strip()) and not line.startswith(VITALS)
                self.unread += is_cut
                continue
            resumed = "invocation" in value and value["invocation"].get("resumed")
            if resumed and self.end != "complete":
                # The run goes on. What was cut off before was measured again.
                self.end, ended = "missing", False
                self.unread -= was_cut
            if ended:
                self.unread += 1
            elif "header" in value:
                self.header = value["header"]
            elif "trial" in value:
                trial = Trial(value["trial"])
                key = (trial.case, trial.invocation, trial.round)
                if key in seen:
                    self.unread += 1
                    continue
                seen.add(key)
                self.trials.append(trial)
            elif "invocation" in value:
                self.invocations.append(value["invocation"])
            elif "vitals" in value:
                self.vitals.append(value["vitals"])
            elif "end" in value:
                self.end, ended = value["end"], True
            else:
                self.unread += 1
        if self.header is None:
            raise ValueError("no header: this is no record")
        self.host = self.header["host"]
        self.storage = self.header.get("storage")
        self.further = self.header.get("further_storages") or []
        every = [self.storage, self.header.get("source_storage"), *self.further]
        # All storages whose path is known.
        self.on_paths = [storage for storage in every if storage and storage.get("path")]
        for storage in self.on_paths:
            storage["path"] = vitals.in_use(storage["path"], self.vitals)
        self.plan = self.header["plan"]
        self.cases = [Case(row["case"]) for row in self.plan["cases"]]
        # Rounds after the planned ones have only the cases with wide intervals.
        for trial in self.trials:
            trial.is_further = bool(self.plan.get("budget")) and trial.round >= self.plan["rounds"]
        actors = {row["name"]: Case(row["case"]) for row in self.plan.get("actors", [])}
        sharing = {row["name"] for row in self.plan.get("actors", []) if row.get("file") == "case"}
        for trial in self.trials:
            case = self.cases[trial.case] if trial.case < len(self.cases) else None
            trial.evidence = beside.own(trial.evidence, trial.beside, case, actors, self.storage,
                                        sharing)
        self.actors = actors
        # What the actors do that use the file of a case.
        self.sharing = {name: actors[name] for name in sharing}
        # The size of all last-level caches together, and of the largest; None if unknown.
        self.caches = (self.host.get("last_level_cache"), self.host.get("largest_cache"))
        # Records before 2026-11-23 call a baseline a control.
        names = {"control": "baseline"}
        self.roles = [names.get(row["role"], row["role"]) for row in self.plan["cases"]]

    @staticmethod
    def read(path):
        with open(path, encoding="utf-8") as file:
            return Record(file)
