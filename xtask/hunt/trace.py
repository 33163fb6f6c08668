"""What block devices did and which calls were made, from the kernel's tracepoints.

Neither ioassay nor its audit reads these. Times are of CLOCK_MONOTONIC, as in a record's spans.
"""

import collections
import os
import re
import time
from bisect import bisect_left, bisect_right

ROOT = "/sys/kernel/tracing"
BUFFER_KIB = 65536
SYNCS = ("fsync", "fdatasync", "msync", "sync_file_range", "syncfs")
BLOCK = re.compile(rb" (\d+)\.(\d{6}): (block_\w+): (\d+),(\d+) (\w+) .*?(?:\+ (\d+) .*)?"
                   rb"\[(.*)\]$", re.MULTILINE)
CALL = re.compile(rb"-(\d+) +\[\d+\] \S+ +(\d+)\.(\d{6}): sys_(\w+)\(", re.MULTILINE)
# "entries-in-buffer/entries-written: 5/9": the buffer was too small.
WRITTEN = re.compile(rb"written: (\d+)/(\d+)")

Call = collections.namedtuple("Call", "ns tid name")


class Requests:
    """Requests of one kind on one device, by their times, which rise."""

    def __init__(self):
        self.ns, self.sums = [], [0]

    def add(self, ns, moved):
        self.ns.append(ns)
        self.sums.append(self.sums[-1] + moved)

    def span(self, start, end):
        """The indices of those within a span."""
        return bisect_left(self.ns, start), bisect_right(self.ns, end)


class Instance:
    """A trace of its own; other traces of this machine do not see it."""

    def __init__(self, name, kib):
        self.folder = f"{ROOT}/instances/{name}-{os.getpid()}"
        os.makedirs(self.folder, exist_ok=True)
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", str(kib))
        self.write("trace", "")

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def enable(self, event, wanted=None):
        if wanted:
            self.write(f"events/{event}/filter", wanted)
        self.write(f"events/{event}/enable", "1")

    def take(self):
        """Ends it, and returns what it has and whether that is all."""
        self.write("tracing_on", "0")
        self.write("events/enable", "0")
        with open(f"{self.folder}/trace", "rb") as file:
            text = file.read()
        for _ in range(50):
            try:
                os.rmdir(self.folder)
                break
            except OSError:
                time.sleep(0.02)
        counts = WRITTEN.search(text[:1000])
        return text, bool(counts) and counts[1] != counts[2]


class Trace:
    """Records from its start to its end; then it has what happened."""

    def __init__(self, devices, has_requests=True, by_program=False):
        """Traces these devices. Without `has_requests`, they take bios, as zram does. With
        `by_program`, it also keeps who issued what, which is as much again.
        """
        self.devices, self.has_requests, self.by_program = devices, has_requests, by_program
        self.done = collections.defaultdict(Requests)
        self.issued = collections.defaultdict(Requests)
        self.flushed = collections.defaultdict(Requests)
        self.calls, self.lost = [], False

    def __enter__(self):
        self.blocks = Instance("hunt", BUFFER_KIB)
        numbers = (map(int, device.split(":")) for device in self.devices)
        wanted = " || ".join(f"dev == {major << 20 | minor}" for major, minor in numbers)
        if wanted and self.has_requests:
            self.blocks.enable("block/block_rq_complete", wanted)
            if self.by_program:
                # Who issues a request may be another than who asked for it.
                self.blocks.enable("block/block_bio_queue", wanted)
        elif wanted:
            self.blocks.enable("block/block_bio_queue", wanted)
        # Calls of this process's children, whatever else runs a program of the same name.
        self.made = Instance("hunt-calls", BUFFER_KIB // 8)
        self.made.write("options/event-fork", "1")
        self.made.write("set_event_pid", str(os.getpid()))
        for name in SYNCS:
            self.made.enable(f"syscalls/sys_enter_{name}")
        return self

    def __exit__(self, *_):
        text, lost = self.blocks.take()
        for found in BLOCK.finditer(text):
            self.keep(*found.groups())
        text, lost_calls = self.made.take()
        self.calls = [Call(ns_of(seconds, rest), int(tid), name.decode())
                      for tid, seconds, rest, name in CALL.findall(text)]
        self.lost = lost or lost_calls

    def keep(self, seconds, rest, event, major, minor, kind, sectors, by):
        ns, moved = ns_of(seconds, rest), 512 * int(sectors or 0)
        device = f"{major.decode()}:{minor.decode()}"
        # W, R or D for data, F in front for a flush, F behind for a write that is forced.
        kind = kind.decode()
        data = kind.lstrip("F")[:1]
        if event == b"block_bio_queue" and self.has_requests:
            self.issued[device, data, by.decode(errors="replace")].add(ns, moved)
            return
        if moved:
            self.done[device, data].add(ns, moved)
        if "F" in kind[1:] or kind.startswith("F") and not moved:
            self.flushed[device].add(ns, 0)

    def moved(self, device, kind, start, end, by=None):
        """Bytes of `kind` (R or W) that requests moved within a span; with `by`, those issued by
        a program of this name."""
        requests = self.done[device, kind] if by is None else self.issued[device, kind, by]
        first, last = requests.span(start, end)
        return requests.sums[last] - requests.sums[first]

    def count(self, device, kind, start, end):
        """Requests of `kind` (R or W) that were done within a span."""
        first, last = self.done[device, kind].span(start, end)
        return last - first

    def flushes(self, device, start, end):
        """Flushes and forced writes (FUA) that were done within a span."""
        first, last = self.flushed[device].span(start, end)
        return last - first


def ns_of(seconds, microseconds):
    return int(seconds) * 1_000_000_000 + int(microseconds) * 1000
