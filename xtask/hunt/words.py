"""What is said in words must be what stands in the table, and what the kernel traced.

Each law takes what was played and yields the faults that it finds.
"""

import re
from dataclasses import dataclass
from statistics import median

from laws import Fault, flush_end, is_sound

NONSENSE = (re.compile(r"\b(NaN|inf|None|null)\b"), re.compile(r"(?<![\w.])-\d"),
            re.compile(r"(?<![\d.,-])1 (rounds|trials|cases|threads|times|files|blocks|bytes|syncs|"
                       r"flushes)\b"),
            re.compile(r"\b(\d{4,}(\.\d+)?) %"), re.compile(r"  "))
# The rate of a row, and whether it is marked as doubtful.
FASTEST = re.compile(r"[Ff]astest (?:on|in|of) [^:;]*: (?!undecided)[^;]*? at (\S+ \w*B/s)(\??)")
FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
# Of other programs, which remedies name.
OTHERS = {"--direct-io", "--suppress-sync"}
# A number, as reports print it, and what one of its unit is in bytes, ns, a share or a second's.
UNITS = {"B/s": 1, "kB/s": 1e3, "MB/s": 1e6, "GB/s": 1e9, "TB/s": 1e12,
         "ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "/s": 1, "k/s": 1e3, "M/s": 1e6, "%": 0.01,
         "": 1}
NUMBER = re.compile(r"(?<![\w.])~?(\d+(?:\.\d+)?) ?((?:[kMGT]?B/s|ns|µs|ms|s|[kM]?/s|%)(?!\w)|)")
TRIALS = re.compile(r"\bin (\d+) of (\d+) trials")
# What answers ask for: the depth of this share of the highest rate, a p99 below this time.
GOALS = re.compile(r"reaches 90 %|90 % of the highest rate|99 % of responses|"
                   r"p99 stays below 1ms|surely below 1ms")
OTHER_ROWS = re.compile(r"^\w+ +(\w+) \([^\n]*?; also (?:all|both) (?:(\d+) )?other rows?\)",
                        re.MULTILINE)
# A text up to the last line about the report itself: the answer follows. Findings, and trials that
# failed, come before.
BEFORE_ANSWER = re.compile(r".*\n(?:again|more) +\S[^\n]*(?:\n +[^\n]*)*\n", re.DOTALL)


@dataclass
class Printed:
    """A number as it is printed, and how far it may be from the exact one."""

    value: float
    half_digit: float

    @staticmethod
    def of(number, unit=""):
        digits = len(number.partition(".")[2])
        return Printed(float(number) * UNITS[unit], 0.5 * 10 ** -digits * UNITS[unit])

    def can_be(self, exact, loose=0.0):
        return abs(self.value - exact) <= self.half_digit * 1.001 + loose * abs(exact)


def sentences(played):
    """No sentence of a finding is nonsense or contradicts the table."""
    for row in played.said["cases"]:
        for finding in row["findings"]:
            for text in (finding["message"], finding["remedy"] or ""):
                for pattern in NONSENSE:
                    if (found := pattern.search(text)):
                        yield Fault("sentences", row["id"], f"{found[0]!r} in: {text}")
            yield from remedy(row, finding)


def remedy(row, finding):
    """A remedy does not advise what the case has already."""
    for axis, value in re.findall(r"\b(cache|allocation|sync|engine|pattern|advice|touch) "
                                  r"'?([a-z-]+)'?", finding["remedy"] or ""):
        if row["case"].get(axis) == value:
            yield Fault("sentences", row["id"],
                        f"{finding['code']} advises {axis} {value}, which the case has")


def answers(played):
    """The sentence of the fastest row names one that no sound row passes, and what is compared is
    told as its interval is."""
    best = max((row["throughput"]["median"] for row, _ in played.rows() if is_sound(row)
                and row["throughput"] and not row["case"].get("rate")), default=0)
    for found, rest in FASTEST.findall(played.forms["text"][1]):
        number, unit = found.split(" ")
        if not rest and unit in UNITS and float(number) * UNITS[unit] > 1.01 * best:
            yield Fault("sentences", "", f"the fastest is {found}, the best sound row has {best}")
    for pair in played.said["comparisons"]:
        low, high = pair["low"], pair["high"]
        if pair["difference"] == "different" and low is not None and low <= 1 <= high:
            yield Fault("sentences", pair["case"], f"different, with {low} to {high}")
        if pair["difference"] == "same" and low is not None \
                and not 1 - pair["interest"] - 0.001 <= low <= high <= 1 + 2 * pair["interest"]:
            yield Fault("sentences", pair["case"], f"the same, with {low} to {high}")


def flags(played):
    """What a report advises, `run` takes."""
    for line in played.forms["text"][1].splitlines():
        for flag in FLAG.findall(line):
            if flag not in played.options | OTHERS and "ioassay " not in line:
                yield Fault("sentences", "", f"run has no {flag}: {line.strip()}")


def wide(_played, row, _trials):
    rates = [rate for rate in (row["throughput"], row["iops"], row["ns_per_op"],
                               (row["writing"] or {}).get("acknowledged")) if rate]
    return [rate["high"] / rate["low"] for rate in rates if rate["low"]]


def lasting(_played, _row, trials):
    return [median(trial.end - trial.start for trial in trials),
            median(flush_end(trial) - trial.start for trial in trials)]


def longest(_played, row, _trials):
    return [row["latency_ns"]["max"] or 0]


def idle(_played, row, _trials):
    return [(row["imbalance_percent"] or 0) / 100]


def planted(played, _row, _trials):
    return [played.question.limit.value] if played.question.limit else []


# What a finding says, by a pattern with a number and maybe its unit, and what that can be.
SAID = (
    ("WideInterval", r"interval is ([\d.]+)() times the lower", wide),
    ("TooShort", r"a trial lasts ([\d.]+) (\S+):", lasting),
    ("Stalled", r"up to ([\d.]+) ([µnm]?s), and together", longest),
    ("Imbalanced", r"imbalance ([\d.]+) (%)", idle),
    ("Throttled", r"limits \S+ of \S+ to ([\d.]+) (\wB/s)", planted),
    ("Throttled", r"limits \S+ of \S+ to ([\d.]+)() per second", planted),
)


def figured(played):
    """The figures in a finding's sentence are those of its row, or those that were planted."""
    for row, trials in played.rows():
        for finding in row["findings"]:
            text = finding["message"]
            for code, pattern, exact in SAID:
                found = re.search(pattern, text) if finding["code"] == code and trials else None
                values = exact(played, row, trials) if found else []
                if values and found[2] in UNITS \
                        and not any(Printed.of(*found.groups()).can_be(value, 0.002)
                                    for value in values):
                    yield Fault("sentences", row["id"], f"{found[0]!r}, but the row has {values}")
            for some, of in TRIALS.findall(text):
                if not 0 < int(some) <= int(of) <= max(row["n"], len(row["trials"])):
                    yield Fault("sentences", row["id"], f"of {row['n']} trials: {text}")


def neighbors(played):
    """What a finding says that others moved, the device did move."""
    if not played.storage.own or not played.storage.has_requests:
        return
    for row, trials in played.rows():
        for finding in row["findings"]:
            found = re.search(r"(read|wrote) up to ([\d.]+) (times|%) as much (?:from|to) (\S+)",
                              finding["message"]) if finding["code"] == "Foreign" else None
            if not found or not trials:
                continue
            below = found[4] == "the" or not played.numbers[1:]
            device = played.numbers[0] if below else played.numbers[-1]
            kind = "R" if found[1] == "read" else "W"
            said = Printed.of(found[2], "%" if found[3] == "%" else "")
            moved = []
            for trial in trials:
                # Counters are read some time before and after.
                around = trial.evidence["window_ns"] - (flush_end(trial) - trial.start) + 50_000_000
                did = sum(played.trace.moved(device, each, trial.start - around,
                                             flush_end(trial) + around) for each in (kind, "N"))
                moved.append((did + (1 << 20)) / max(trial.bytes, 1))
            if said.value - said.half_digit > 1.02 * max(moved):
                yield Fault("sentences", row["id"], f"{found[0]!r}, but {device} moved at most "
                            f"{max(moved):.2f} times as much in all")


UNREAD = re.compile(r"claimed direct, but (?:[\d.]+-)?([\d.]+) % of the bytes came without a "
                    r"device read")
FETCHED = re.compile(r"claimed warm, but devices had to read ([\d.]+) % of the bytes")


def refuted(played):
    """What a finding says that no device read, none did, and what it says that one had to read, one
    did."""
    storage = played.storage
    if not storage.own or storage.compresses or storage.unseen or storage.cached_below \
            or played.question.neighbour:
        return
    for row, trials in played.rows():
        if row["beside"] or not trials:
            continue
        read = sum(played.trace.moved(played.numbers[0], "R", trial.start - 5_000_000, trial.end)
                   for trial in trials) / max(sum(trial.bytes for trial in trials), 1)
        for finding in row["findings"]:
            text = finding["message"]
            if (found := UNREAD.search(text)) and read > 1 - float(found[1]) / 200:
                yield Fault("sentences", row["id"], f"{found[0]!r}, but one read {read:.3f}")
            if (found := FETCHED.search(text)) and read < float(found[1]) / 200:
                yield Fault("sentences", row["id"], f"{found[0]!r}, but they read {read:.3f}")
        if row["served_by"] == "ram" and not storage.in_memory and read > 0.5:
            yield Fault("served", row["id"], f"ram, but a device read {read:.3f} of the bytes")


def listed(played):
    """A finding that is said of all other rows is one of all rows."""
    text = played.forms["text"][1]
    rows = sum(row["verdict"] in ("sound", "doubtful", "void") for row, _ in played.rows())
    for code, count in OTHER_ROWS.findall(text):
        if count and int(count) + 1 > len(played.said["cases"]):
            yield Fault("sentences", "", f"{code} of {int(count) + 1} rows, there are {rows}")
        if not any(finding["code"] == code
                   and len(finding["cases"]) == (int(count) + 1 if count else
                                                 len(finding["cases"]))
                   for finding in played.said["findings"]):
            yield Fault("sentences", "", f"{code} is said of all {count} other rows, and is not")


def numbers_in(value):
    """All numbers of a JSON value."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return [float(value)] if isinstance(value, (int, float)) else []
    return [number for item in value for number in numbers_in(item)]


def told(played):
    """Each figure of the answer below the findings is one of the assessment."""
    text = played.forms["text"][1]
    if not (before := BEFORE_ANSWER.match(text)):
        return
    answer = GOALS.sub("", text[before.end():])
    said = {name: value for name, value in played.said.items() if name not in ("host", "storage")}
    numbers = set(numbers_in(said))
    of_time = numbers | {1e9 * number for number in numbers}
    of_shares = numbers | {number / 100 for number in numbers} \
        | {1 - number for number in numbers if 0 <= number <= 1}
    for number, unit in NUMBER.findall(answer):
        if not unit:
            continue
        printed = Printed.of(number, unit)
        exact = of_shares if unit == "%" else numbers if unit.endswith("/s") else of_time
        if not any(printed.can_be(one) for one in exact):
            yield Fault("sentences", "", f"{number} {unit} is no figure of the assessment: "
                        f"{answer.strip()}")


LAWS = (sentences, answers, flags, figured, neighbors, refuted, listed, told)
