"""A case with its trials, and the figures from them."""

import math
import re
from functools import cached_property

import courses
import links
import rounds
import served
import writing
from figures import NS, Figures
from intervals import (LEVEL, LOOKED_LEVEL, Histogram, estimate, exchangeable, median,
                       whole)

BEYOND_CACHES = 4
AHEAD = 6
# The number of rounds before the first look at whether a case is done.
FIRST_LOOK = 10
OWN = "rust"
SEVERITIES = ("note", "doubt", "void")
FAILED_AT_ONCE = "it ended at once or moved no bytes"


def bytes_of(one):
    return one.bytes


def ops_of(one):
    return one.ops


def timed_of(one):
    return one.timed_ns


def placed(figures, of):
    """The position and the value of each trial that has one."""
    pairs = [((one.trial.invocation, one.trial.round, one.trial.is_further), of(one))
             for one in figures]
    return [(place, value) for place, value in pairs if value is not None]


def level_of(plan):
    """The level of an interval in a single invocation."""
    is_looked = (plan.get("invocations", 1) <= 1 and plan.get("sustain") is None
                 and plan["rounds"] > FIRST_LOOK)
    return LOOKED_LEVEL if is_looked else LEVEL


class Row:
    """A case of a record."""

    def __init__(self, record, number):
        self.record = record
        self.number = number
        self.case = record.cases[number]
        beside = (self.case.beside or "").split("+")
        self.sharing = [case for name, case in record.sharing.items() if name in beside]
        self.role = record.roles[number]
        self.host = record.host
        self.storage = record.storage
        self.source = record.header.get("source_storage") or record.storage
        self.sustain = record.plan.get("sustain")
        self.memory_limit = record.plan.get("memory_limit")
        self.trials = [trial for trial in record.trials if trial.case == number]
        self._figures = {}
        self.done = [trial for trial in self.trials
                     if trial.done and self.figures_of(trial).main is not None]
        self.findings = {}
        self.maybe = set()
        self.ceiling = self.loaded_ceiling = self.of_memory = self.loaded_of_memory = None
        self.is_ceiling = False
        self.bus = None
        # What served its arrays, and the level of the caches.
        self.arrays = ("cpu-cache-or-ram", None)
        self.id = None

    # The case.

    @property
    def file(self):
        """The case if it reads a file, which the null engine does not."""
        return self.case if self.case.is_read and not self.case.is_null else None

    @property
    def write(self):
        """The case if it writes a file, which the null engine does not."""
        return self.case if self.case.is_write and not self.case.is_null else None

    @property
    def memory(self):
        return self.case if self.case.is_memory else None

    @property
    def moves(self):
        return not self.case.is_null

    @property
    def parts(self):
        """Into how many parts hosts divide the file."""
        rank = self.record.plan.get("rank") or {}
        return rank.get("of", 1) if self.case.files == "shared" else 1

    @property
    def shares_device(self):
        """Whether another host of the run measures the case on this machine and device."""
        rank = self.record.plan.get("rank") or {}
        beside, of = rank.get("neighbor"), rank.get("of", 1)
        told = str(self.case.hosts)
        # Without a number, all of them measure it.
        hosts = min(int(told), of) if told.isdigit() and int(told) else of
        return beside is not None and beside < hosts

    @property
    def is_own(self):
        return self.case.peer == OWN

    @property
    def medium(self):
        return self.storage["medium"] if self.storage else None

    @property
    def parallelism(self):
        """How many threads can run at a time."""
        quota = self.host.get("cpu_quota")
        cores = self.host["cores"]
        return max(1, cores if quota is None else min(cores, math.ceil(quota)))

    @property
    def threads_at_work(self):
        is_ahead = self.file and self.case.advice == "touch-ahead"
        return self.case.threads + (AHEAD if is_ahead else 0)

    def is_beyond_caches(self, size, threads=None):
        """Whether a size far exceeds the caches of the case's threads; None if the cache sizes are
        unknown."""
        held = self.caches_hold(size, threads)
        return None if held is None else held <= 1 / BEYOND_CACHES

    def caches_hold(self, size, threads=None):
        """The share of a size that the caches of the case's threads can hold at most."""
        every, largest = self.record.caches
        of_threads = largest and largest * max(1, threads or self.case.threads)
        known = [one for one in (every, of_threads) if one]
        return min(1.0, min(known) / size) if known else None

    @cached_property
    def fixture(self):
        """The file that was read: the one with the case's part, or the only one. Of several
        invocations' files, the one with the most unwritten or encoded data."""
        if not self.file:
            return None
        every = [self.record.header.get("fixtures", [])]
        every += [one["fixtures"] for one in self.record.invocations]
        found = []
        for fixtures in every:
            place = (self.case.offset or 0, self.case.size)
            alike = [one for one in fixtures if served.read_of(one) == place]
            found += alike[:1] or (fixtures if len(fixtures) == 1 else [])

        def lost(one):
            layout = one.get("layout")
            return (layout["unwritten"], layout["encoded"]) if layout else (-1, -1)

        return max(found, key=lost) if found else None

    # Its trials.

    def figures_of(self, trial):
        if id(trial) not in self._figures:
            self._figures[id(trial)] = Figures(trial, self.case)
        return self._figures[id(trial)]

    @cached_property
    def gates(self):
        return rounds.left_out(self)

    @cached_property
    def counted(self):
        return [trial for trial in self.done if trial.round not in self.gates]

    @cached_property
    def figures(self):
        return [self.figures_of(trial) for trial in self.counted]

    def values(self, of):
        """One value for each trial that has one."""
        return [value for value in map(of, self.figures) if value is not None]

    def by_round(self, of):
        """One value for each round that has one, by its place."""
        return dict(placed(self.figures, of))

    def rates(self):
        return self.at_the_end(self.by_round(lambda one: one.main))

    @cached_property
    def end_to_mean(self):
        """With --sustain: the rate at the end over the mean of the trials; None if unknown."""
        course = self.course if self.sustain is not None else None
        end = course and (course["sustained"] or (course["change"] or {}).get("after"))
        rates = self.values(lambda one: one.main)
        return end / (sum(rates) / len(rates)) if end and rates else None

    def at_the_end(self, rates):
        """Of rates by round, that at the end, if it is known."""
        if self.end_to_mean is None or not rates:
            return rates
        return {max(rates): sum(rates.values()) / len(rates) * self.end_to_mean}

    def units(self):
        """The exchangeable values: the rates of rounds, or of invocations."""
        return exchangeable(placed(self.figures, lambda one: one.main))

    def loaded_rates(self):
        return self.by_round(lambda one: one.loaded)

    def acknowledged_rates(self):
        return self.at_the_end(self.by_round(lambda one: one.acknowledged))

    def durable_rates(self):
        if self.durability[0] not in writing.DURABLE:
            return {}
        return self.at_the_end(self.by_round(lambda one: one.written_rate))

    def total(self, part, all_of):
        """The sum of a part over the sum of a whole, for the trials that report both."""
        pairs = [(part(one), all_of(one)) for one in self.figures]
        pairs = [(a, b) for a, b in pairs if a is not None and b is not None]
        summed = sum(b for _, b in pairs)
        return sum(a for a, _ in pairs) / summed if summed > 0 else None

    def counter(self, name):
        return median(trial[name] for trial in self.counted)

    def of_spans(self, name):
        return whole(median(one.usage(name) for one in self.figures))

    def whole(self, name):
        return whole(self.counter(name))

    # The figures.

    @property
    def level(self):
        """The level of an interval in a single invocation: wider if looks may have ended the
        case."""
        return level_of(self.record.plan)

    def estimate(self, of, mean=None, figures=None):
        return estimate(placed(figures or self.figures, of), self.level, mean)

    def rate_estimate(self, rate, amount, ns, figures=None):
        """A rate over rounds, whose mean is total work over total time."""
        there = [one for one in figures or self.figures if rate(one) is not None]
        if figures is None and there and self.end_to_mean is not None:
            pairs = list(self.at_the_end(self.by_round(rate)).items())
            return estimate(pairs, self.level, pairs[0][1])
        time = sum(ns(one) for one in there)
        mean = sum(amount(one) for one in there) * NS / time if time else None
        return self.estimate(rate, mean, there)

    def end_estimate(self, rate):
        """A rate over rounds; the one at the end of `--sustain`, if that is known."""
        there = [one for one in self.figures if rate(one) is not None]
        if there and self.end_to_mean is not None:
            pairs = list(self.at_the_end(self.by_round(rate)).items())
            return estimate(pairs, self.level, pairs[0][1])
        return self.estimate(rate)

    @cached_property
    def throughput(self):
        return self.rate_estimate(lambda one: one.throughput, bytes_of, timed_of)

    @property
    def rate(self):
        """The median throughput; 0 if there is none."""
        return self.throughput["median"] if self.throughput else 0.0

    @cached_property
    def ns_per_op(self):
        there = [one for one in self.figures if one.ns_per_op is not None]
        if there and self.end_to_mean is not None:
            inverse = {place: 1 / ns for place, ns in placed(there, lambda one: one.ns_per_op)}
            pairs = [(place, 1 / rate) for place, rate in self.at_the_end(inverse).items()]
            return estimate(pairs, self.level, pairs[0][1])
        ops = sum(one.ops for one in there)
        time = sum(one.elapsed_ns for one in there) * self.case.threads
        return self.estimate(lambda one: one.ns_per_op, time / ops if ops else None)

    @cached_property
    def iops(self):
        return self.rate_estimate(lambda one: one.iops, ops_of, timed_of)

    @property
    def cache_level(self):
        """The level of the processor's caches that served; None if it is unknown."""
        return self.arrays[1] if self.case.is_memory and self.counted else None

    @property
    def served_by(self):
        """What served; of arrays, once the caches of all rows are known."""
        by = self.arrays[0] if self.case.is_memory else self.of_file[0]
        return by if self.counted else None

    @cached_property
    def of_file(self):
        """What served a file, and the hit share if there is one."""
        return served.served_by(self)

    @property
    def hit_share(self):
        hits = self.of_file[1]
        return hits and hits[0]

    @property
    def hit_share_most(self):
        hits = self.of_file[1]
        return hits and hits[1]

    @cached_property
    def link(self):
        """What the links to its device carry, and its share of it."""
        return links.use(self)

    @cached_property
    def durability(self):
        return writing.durability(self)

    @cached_property
    def course(self):
        return courses.course(self)

    @cached_property
    def writing(self):
        return writing.told(self)

    @cached_property
    def histogram(self):
        return self.histogram_of(lambda trial: trial.done["latencies"])

    @cached_property
    def syncs(self):
        return self.histogram_of(
            lambda trial: trial.done.get("syncs") or {"counts": [], "max_ns": 0})

    @cached_property
    def every_latency(self):
        """The latencies of all trials, further ones included."""
        return Histogram([[one.trial.done["latencies"] for one in self.figures]])

    def histogram_of(self, of):
        return Histogram([[of(one.trial) for one in unit] for unit in self.planned_units()])

    def planned_units(self):
        """The same as `by_unit`, without further rounds."""
        units = [[one for one in unit if not one.trial.is_further] for unit in self.by_unit()]
        return [unit for unit in units if unit]

    def by_unit(self):
        """The figures of each invocation, or of each round if there is only one invocation."""
        is_one = len({one.trial.invocation for one in self.figures}) == 1
        units = {}
        for one in self.figures:
            unit = one.trial.round if is_one else one.trial.invocation
            units.setdefault(unit, []).append(one)
        return list(units.values())

    @cached_property
    def imbalance(self):
        return median(one.imbalance() for one in self.figures)

    @cached_property
    def loaded(self):
        """The case without its loading; None if nothing is loaded."""
        rates = self.loaded_rates()
        if not rates or self.case.is_write:
            return None
        throughput = self.rate_estimate(lambda one: one.loaded, bytes_of, lambda one: one.rest_ns)
        return {"throughput": throughput,
                "load_ns": self.estimate(lambda one: one.load_ns),
                "served_by": self.served_loaded()}

    def served_loaded(self):
        advice, by = self.case.advice, self.served_by
        if self.case.engine == "load":
            return "ram"
        if advice == "populate" and by in ("device", "mixed"):
            return "page-cache"
        # Pages requested by `willneed` may still be loading.
        return "mixed" if advice == "willneed" and by == "device" else by

    def excluded(self):
        if not self.gates:
            return None
        names = list(self.gates.values())
        reasons = [{"reason": name, "trials": names.count(name)}
                   for name in rounds.GATES if name in names]
        done = [self.figures_of(trial) for trial in self.done]
        amount = ops_of if self.case.op == "sync" else bytes_of
        with_them = self.rate_estimate(lambda one: one.main, amount, timed_of, done)
        return {"trials": len(names), "reasons": reasons, "rate_with_them": with_them}

    def spent(self):
        cpu = self.values(lambda one: one.processors)
        if not cpu:
            return None
        parts = self.values(lambda one: one.split)
        seconds = {name: median(part[place] for part in parts) for place, name in
                   enumerate(("user_s", "system_s"))}
        seconds = {name: ns if ns is None else ns / NS for name, ns in seconds.items()}
        return {"wall_s": median(one.wall_ns for one in self.figures) / NS, **seconds,
                "processors": median(cpu),
                "blocked_share": median(one.blocked_share() for one in self.figures)}

    def digest_verified(self):
        told = [self.figures_of(trial).is_right for trial in self.done]
        told = [one for one in told if one is not None]
        return all(told) if told else None

    def counted_tens(self):
        """The number of 10s that each trial counted, if all read the file once and agree."""
        if not self.file or self.case.touch != "count" or not self.figures:
            return None
        counts = {one.digest for one in self.figures}
        is_whole = all(one.bytes == self.case.size for one in self.figures)
        return counts.pop() if is_whole and len(counts) == 1 else None

    def warm_up_ns(self):
        return max((trial.done.get("warm_up_ns") or 0 for trial in self.counted),
                   default=0) or None

    # Its verdict.

    def find(self, code, severity):
        """Adds a finding, if there is one."""
        if severity:
            self.findings[code] = severity

    @property
    def verdict(self):
        """The verdict of the most severe finding, or why there is no figure. A case is unavailable
        if nothing else went wrong."""
        worst = max((SEVERITIES.index(one) for one in self.findings.values()), default=0)
        if not self.counted:
            fates = {self.fate(trial)[0] for trial in self.trials}
            if not fates:
                return "not run"
            return "unavailable" if fates == {"unavailable"} else "failed"
        return ("sound", "doubtful", "void")[worst]

    @property
    def pairs(self):
        """Whether all that makes it doubtful is how its figure varies from round to round."""
        doubts = {code for code, severity in self.findings.items() if severity != "note"}
        of_rounds = {"Drifting", "WideInterval", "TooFew"}
        if not (self.course and self.course["change"]):
            of_rounds.add("StepChange")
        return doubts <= of_rounds

    @property
    def stands(self):
        return self.verdict in ("sound", "doubtful")

    @property
    def has_own_rate(self):
        """Whether no schedule set its rate."""
        return self.stands and not self.case.rate

    def is_served(self, by):
        return self.stands and self.served_by == by

    def fate(self, trial):
        if trial.fate != "done":
            told = trial.told
            return trial.fate, told.get("reason") if isinstance(told, dict) else told
        if not any(trial is one for one in self.done):
            return "failed", FAILED_AT_ONCE
        gate = self.gates.get(trial.round)
        return ("excluded", gate) if gate else ("counted", None)

    def failures(self):
        """The failures, each reason once; of those that differ only in numbers, the first."""
        reasons = {}
        for trial in self.trials:
            fate, reason = self.fate(trial)
            if fate in ("failed", "unavailable"):
                said = f"{fate}: {reason}"
                same = reasons.setdefault(re.sub(r"[0-9]", "", said), {"reason": said, "trials": 0})
                same["trials"] += 1
        return list(reasons.values())


def fastest(rows):
    """The row with the highest throughput; the last one of equals."""
    best = None
    for row in rows:
        if best is None or row.rate >= best.rate:
            best = row
    return best


def grouped(rows, key):
    """The rows with a key, grouped by it, in order of first occurrence."""
    groups = {}
    for row in rows:
        of_row = key(row)
        if of_row is not None:
            groups.setdefault(of_row, []).append(row)
    return list(groups.values())
