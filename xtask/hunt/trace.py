"""What block devices did and which calls were made, from the kernel's tracepoints.

Neither ioassay nor its audit reads these. Times are of CLOCK_MONOTONIC, as in a record's spans.
"""

import collections
import os
import re
import time

ROOT = "/sys/kernel/tracing"
BUFFER_KIB = 65536
SYNCS = ("fsync", "fdatasync", "msync", "sync_file_range", "syncfs")
EVENTS = ("block/block_rq_issue", "block/block_rq_complete", "block/block_bio_queue",
          *(f"syscalls/sys_enter_{name}" for name in SYNCS))
LINE = re.compile(r"^\s*(?P<comm>.{1,16})-(?P<tid>\d+)\s+\[\d+\]\s+\S+\s+(?P<seconds>\d+\.\d+): "
                  r"(?P<event>\w+)(?:: (?P<device>\d+,\d+) (?P<kind>\w+) (?P<rest>.*)|\()")
SECTORS = re.compile(r"\+ (\d+)")
ISSUER = re.compile(r"\[(.*)\]$")

# A request: `kind` has W, R or D for data, F in front for a flush; `by` is who issued it.
Request = collections.namedtuple("Request", "ns device kind bytes by")
Call = collections.namedtuple("Call", "ns tid name")


class Trace:
    """Records from its start to its end; then it has what happened."""

    def __init__(self, memory_device=None):
        """`memory_device` is a device that takes bios, such as zram: it has no requests."""
        self.folder = f"{ROOT}/instances/hunt-{os.getpid()}"
        self.memory_device = memory_device
        self.issued, self.completed, self.calls, self.lost = [], [], [], False

    def write(self, name, text):
        with open(f"{self.folder}/{name}", "w", encoding="ascii") as file:
            file.write(text)

    def __enter__(self):
        os.makedirs(self.folder, exist_ok=True)
        self.write("trace_clock", "mono")
        self.write("buffer_size_kb", str(BUFFER_KIB))
        self.write("trace", "")
        for event in EVENTS:
            if event.startswith("syscalls"):
                self.write(f"events/{event}/filter", 'comm == "ioassay"')
            if event == "block/block_bio_queue":
                # Only of a device without requests: others would count twice.
                if self.memory_device is None:
                    continue
                major, minor = map(int, self.memory_device.split(":"))
                self.write(f"events/{event}/filter", f"dev == {major << 20 | minor}")
            self.write(f"events/{event}/enable", "1")
        self.write("tracing_on", "1")
        return self

    def __exit__(self, *_):
        self.write("tracing_on", "0")
        self.write("events/enable", "0")
        self.read()
        for _ in range(50):
            try:
                os.rmdir(self.folder)
                break
            except OSError:
                time.sleep(0.02)

    def read(self):
        with open(f"{self.folder}/trace", encoding="utf-8", errors="replace") as file:
            for line in file:
                if line.startswith("#"):
                    # "entries-in-buffer/entries-written: 5/9": the buffer was too small.
                    counts = re.search(r"written: (\d+)/(\d+)", line)
                    self.lost |= bool(counts) and counts[1] != counts[2]
                elif (found := LINE.match(line)):
                    self.keep(found)

    def keep(self, found):
        ns = round(float(found["seconds"]) * 1e9)
        if found["device"] is None:
            self.calls.append(Call(ns, int(found["tid"]), found["event"].removeprefix("sys_")))
            return
        rest = found["rest"]
        sectors = SECTORS.search(rest)
        by = ISSUER.search(rest)
        request = Request(ns, found["device"].replace(",", ":"), found["kind"],
                          512 * int(sectors[1]) if sectors else 0, by[1] if by else "")
        if found["event"] == "block_rq_issue":
            self.issued.append(request)
        else:
            self.completed.append(request)

    def moved(self, device, kind, start, end, by=None):
        """Bytes of `kind` (R or W) that requests moved within a span; with `by`, those issued by
        a program of this name."""
        requests = self.completed if by is None else self.issued
        return sum(request.bytes for request in requests
                   if request.device == device and kind in request.kind.lstrip("F")
                   and start <= request.ns <= end and by in (None, request.by))

    def count(self, device, kind, start, end):
        """Requests of `kind` (R or W) that were done within a span."""
        return sum(request.device == device and kind in request.kind.lstrip("F")
                   and request.bytes > 0 and start <= request.ns <= end
                   for request in self.completed)

    def flushes(self, device, start, end):
        """Flushes and forced writes (FUA) that were done within a span."""
        return sum(request.device == device and start <= request.ns <= end
                   and ("F" in request.kind[1:]
                        or request.kind.startswith("F") and request.bytes == 0)
                   for request in self.completed)
