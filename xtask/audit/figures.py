"""The figures of a trial, from its spans."""

from functools import cached_property

import beside
import shared
from intervals import Histogram, whole

NS = 1e9
TRIAL_PERCENTILES = ("p50", "p99", "p99_9")
# The accuracy of a loop's clock and its span's clock: a span this close to its time limit was ended
# by it.
TIME_OVER = 0.99
# Counters of a window apply to the timed span if the window is hardly longer.
WINDOW_MOST = 1.05


def a_second(amount, ns):
    """An amount per second; None if either value is 0."""
    return amount * NS / ns if amount and ns and ns > 0 else None


# The counters that the JSON names as the record does.
COUNTERS = (
    "window_ns folio_bytes task_read_bytes task_rchar_bytes task_wchar_bytes task_read_calls "
    "task_write_calls task_write_bytes device_read_bytes device_reads device_read_ns "
    "device_busy_ns device_write_bytes device_writes device_write_ns device_flushes "
    "disk_read_bytes disk_write_bytes disk_flushes shared_bytes cpu_ns cpu_user_ns cpu_system_ns "
    "minor_faults major_faults switches_voluntary switches_involuntary run_delay_ns steal_ns "
    "machine_cpu_ns pressure_cpu_ns pressure_io_ns pressure_memory_ns swapped_bytes huge_bytes "
    "node_bytes throttled_ns "
).split()


class Figures:
    """The times and amounts of the threads of one trial."""

    def __init__(self, trial, case):
        spans = trial.spans
        self.case = case
        self.trial = trial
        self.spans = spans
        self.start = min((span["start_ns"] for span in spans), default=0)
        end = max((span["end_ns"] for span in spans), default=0)
        synced = [span.get("synced_ns") for span in spans if span["ops"] > 0]
        is_synced = synced and None not in synced
        self.bytes = sum(span["bytes"] for span in spans)
        self.ops = sum(span["ops"] for span in spans)
        # Of a mixed case, the part that read.
        self.read_bytes = sum(span.get("read_bytes", 0) for span in spans)
        self.read_ops = sum(span.get("read_ops", 0) for span in spans)
        self.written_bytes = max(0, self.bytes - self.read_bytes)
        self.written_ops = max(0, self.ops - self.read_ops)
        digests = [span.get("digest") for span in spans]
        self.digest = None if None in digests else sum(digests) % 2**64
        self.elapsed_ns = end - self.start
        self.synced_ns = max(synced) - self.start if is_synced else None
        # From the start of the first thread to the end of the last, including the last sync.
        self.wall_ns = max(self.elapsed_ns, self.synced_ns or 0)
        # A figure that claims durability includes the last sync.
        self.timed_ns = self.wall_ns if case.claims_durable else self.elapsed_ns

    @property
    def is_sync_only(self):
        return self.case.op == "sync"

    @cached_property
    def main(self):
        """The rate by which rounds are compared: bytes per second, or operations for a case that
        only syncs."""
        return a_second(self.ops if self.is_sync_only else self.bytes, self.timed_ns)

    @property
    def throughput(self):
        return None if self.is_sync_only else self.main

    @property
    def acknowledged(self):
        """Bytes per second until the last write returned; None if unknown."""
        if not self.case.is_write or self.is_sync_only or self.case.is_null:
            return None
        is_whole = (not self.trial.done["latencies"]["counts"]
                    and all(span.get("synced_ns") == span["end_ns"] for span in self.spans))
        if is_whole and self.case.sync not in ("none", "dsync"):
            return None
        return a_second(self.written_bytes, self.elapsed_ns)

    @property
    def written_rate(self):
        """The part of the throughput that wrote."""
        return self.main and (self.main * self.written_bytes / self.bytes if self.read_bytes
                              else self.main)

    @property
    def iops(self):
        return a_second(self.ops, self.timed_ns)

    @property
    def ops_until_end(self):
        return a_second(self.ops, self.elapsed_ns)

    @property
    def ns_per_op(self):
        if not self.ops or self.elapsed_ns <= 0 or self.case.rate:
            return None
        return self.elapsed_ns * self.case.threads / self.ops

    @property
    def load_ns(self):
        return max((span.get("load_ns") or 0 for span in self.spans), default=0) or None

    @property
    def loaded(self):
        """Bytes per second without the loading; None if it was not reported."""
        return a_second(self.bytes, self.rest_ns) if self.load_ns else None

    @property
    def rest_ns(self):
        """The time of the thread that took longest, without its loading."""
        return max(span["end_ns"] - span["start_ns"] - (span.get("load_ns") or 0)
                   for span in self.spans)

    @property
    def pages(self):
        """The pages that were read of a file which was overwritten meanwhile; None without any."""
        return shared.pages(self.trial)

    @property
    def is_right(self):
        """Whether the bytes read, or read back, are correct; None if unknown."""
        told = []
        if self.trial.expected_digest is not None:
            told.append(self.digest == self.trial.expected_digest)
        if self.trial.read_back is not None:
            told.append(self.trial.read_back["digest"] == self.trial.read_back["expected"])
        told.extend(beside.are_right(self.trial.beside))
        if self.pages:
            told.append(not self.pages["wrong"])
        return all(told) if told else None

    def in_span(self, told, seen):
        """The worker's report for its spans, or else the counter of a window that is hardly
        longer."""
        if told is not None:
            return told
        window = self.trial["window_ns"]
        return seen if window is not None and window <= WINDOW_MOST * self.wall_ns else None

    def usage(self, name, seen=None):
        """A counter of the whole worker."""
        told = (self.trial.done.get("usage") or {}).get(name)
        return self.in_span(told, self.trial[seen or name])

    def told_by_threads(self, name):
        """The sum of the threads' reports; None unless all threads report."""
        told = [span.get(name) for span in self.spans]
        return None if None in told else sum(told)

    @property
    def cpu_ns(self):
        return self.usage("cpu_ns")

    @property
    def run_delay_ns(self):
        return self.in_span(self.told_by_threads("run_delay_ns"), self.trial["run_delay_ns"])

    @property
    def split(self):
        """CPU time in the program and in the OS: the exact time, split in proportion to ticks."""
        user = self.usage("user_ns", "cpu_user_ns")
        system = self.usage("system_ns", "cpu_system_ns")
        if user is None or system is None or self.cpu_ns is None or user + system <= 0:
            return None
        return [self.cpu_ns * part / (user + system) for part in (user, system)]

    @property
    def start_skew_ns(self):
        starts = [span["start_ns"] for span in self.spans]
        return max(starts) - min(starts) if len(starts) > 1 else None

    @property
    def processors(self):
        cpu = self.cpu_ns
        return None if cpu is None or self.wall_ns <= 0 else cpu / self.wall_ns

    def imbalance(self):
        """The mean idle share of the threads, in per cent."""
        if len(self.spans) < 2 or self.case.rate:
            return None
        parts = [span["end_ns"] - span["start_ns"] for span in self.spans]
        ends = [span["end_ns"] - self.start for span in self.spans]
        if min(ends) >= TIME_OVER * self.case.time:
            parts = [span["bytes"] for span in self.spans]
        longest = max(parts)
        idle = sum(longest - part for part in parts)
        return 100 * idle / (len(parts) * longest) if longest else None

    def without_pauses(self, ns):
        """The part of a thread's time in which it did not wait for an operation to be due."""
        if not self.case.rate or ns is None:
            return ns
        paused = [span.get("paused_ns") for span in self.spans]
        if None in paused or not paused:
            return None
        return max(0, ns - sum(paused) // len(paused))

    @property
    def overslept_ns(self):
        return sum(span.get("overslept_ns", 0) for span in self.spans)

    def blocked_share(self):
        """The share of the threads' time in which they neither ran nor were ready to run."""
        ready = self.run_delay_ns
        ran = self.in_span(self.told_by_threads("cpu_ns"), self.trial["cpu_ns"])
        time = self.without_pauses(self.wall_ns)
        if ready is None or ran is None or not time:
            return None
        time *= self.case.threads
        idle = self.overslept_ns + sum(span.get("spin_ns", 0) for span in self.spans)
        share = 1 - max(0, ran + ready - idle) / time
        return min(max(share, 0.0), 1.0)

    @cached_property
    def latency(self):
        return Histogram([[self.trial.done["latencies"]]])

    @property
    def spent(self):
        """The CPU seconds of the whole worker, and the parts of them, to the nanosecond."""
        user, system = self.split or (None, None)
        parts = {"cpu_s": self.cpu_ns, "user_s": user, "system_s": system}
        return {name: None if ns is None else whole(ns) / NS for name, ns in parts.items()}

    @property
    def evidence(self):
        """The counters of the OS, which the JSON names as CSV does."""
        said = {name: self.trial[name] for name in COUNTERS}
        for name in ("before", "after", "limit"):
            said[f"dirty_{name}_bytes"] = self.trial[f"dirty_{name}"]
        before, after = self.trial["residency_before"], self.trial["residency_after"]
        said["file_pages"] = before and before["pages"]
        said["cached_pages_before"] = before and before["cached"]
        said["cached_pages_after"] = after and after["cached"]
        return said

    def told(self, is_durable):
        """The figures in JSON form."""
        syncs = Histogram([[self.trial.done.get("syncs") or {"counts": [], "max_ns": 0}]])
        return {
            "bytes": self.bytes, "ops": self.ops, "elapsed_s": self.elapsed_ns / NS,
            "synced_s": None if self.synced_ns is None else self.synced_ns / NS,
            "throughput": self.throughput, "acknowledged": self.acknowledged,
            "durable": self.written_rate if is_durable else None,
            "iops": self.iops, "latency_ns": latencies(self.latency),
            "sync_latency_ns": latencies(syncs),
            "spent": self.spent, "evidence": self.evidence,
        }


def latencies(all_of_them):
    """The percentiles of a trial, and its longest."""
    told = {name: all_of_them.percentile(name) for name in TRIAL_PERCENTILES}
    told["max"] = all_of_them.max_ns if all_of_them.count else None
    return told
