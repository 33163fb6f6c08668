"""The figures of a trial, from its spans."""

from functools import cached_property

from intervals import Histogram

NS = 1e9
TRIAL_PERCENTILES = ("p50", "p99", "p99_9")
# Clocks of a loop and of its span agree to this: such a span was ended by its time.
TIME_OVER = 0.99
# What was counted in a window counts for what was timed in it if that is hardly longer.
WINDOW_MOST = 1.05


def a_second(amount, ns):
    """An amount by the second; None where either is 0."""
    return amount * NS / ns if amount and ns and ns > 0 else None


class Figures:
    """What the threads of one trial timed and moved."""

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
        digests = [span.get("digest") for span in spans]
        self.digest = None if None in digests else sum(digests) % 2**64
        self.elapsed_ns = end - self.start
        self.synced_ns = max(synced) - self.start if is_synced else None
        # From the first thread's start to the last thread's end, its last sync included.
        self.wall_ns = max(self.elapsed_ns, self.synced_ns or 0)
        # What claims to be durable lasts until its last sync had returned.
        self.timed_ns = self.wall_ns if case.claims_durable else self.elapsed_ns

    @property
    def is_sync_only(self):
        return self.case.op == "sync"

    @cached_property
    def main(self):
        """What rounds are compared by: bytes a second, or operations where only a sync is
        called."""
        return a_second(self.ops if self.is_sync_only else self.bytes, self.timed_ns)

    @property
    def throughput(self):
        return None if self.is_sync_only else self.main

    @property
    def accepted(self):
        """Bytes a second until the last write had returned; None where that is not known."""
        if not self.case.is_write or self.is_sync_only or self.case.is_null:
            return None
        is_whole = (not self.trial.done["latencies"]["counts"]
                    and all(span.get("synced_ns") == span["end_ns"] for span in self.spans))
        if is_whole and self.case.sync not in ("none", "dsync"):
            return None
        return a_second(self.bytes, self.elapsed_ns)

    @property
    def iops(self):
        return a_second(self.ops, self.timed_ns)

    @property
    def ops_until_end(self):
        return a_second(self.ops, self.elapsed_ns)

    @property
    def ns_per_op(self):
        if not self.ops or self.elapsed_ns <= 0:
            return None
        return self.elapsed_ns * self.case.threads / self.ops

    @property
    def load_ns(self):
        return max((span.get("load_ns") or 0 for span in self.spans), default=0) or None

    @property
    def loaded(self):
        """Bytes a second without the loading; None where none is told."""
        return a_second(self.bytes, self.rest_ns) if self.load_ns else None

    @property
    def rest_ns(self):
        """What the thread took that was longest without its loading."""
        return max(span["end_ns"] - span["start_ns"] - (span.get("load_ns") or 0)
                   for span in self.spans)

    @property
    def is_right(self):
        """Whether what was read, or read back, is what it must be; None where nobody knows."""
        told = []
        if self.trial.expected_digest is not None:
            told.append(self.digest == self.trial.expected_digest)
        if self.trial.read_back is not None:
            told.append(self.trial.read_back["digest"] == self.trial.read_back["expected"])
        return all(told) if told else None

    def in_span(self, told, seen):
        """What the worker told of its spans, else what was seen in a window hardly longer."""
        if told is not None:
            return told
        window = self.trial["window_ns"]
        return seen if window is not None and window <= WINDOW_MOST * self.wall_ns else None

    def usage(self, name, seen=None):
        """A counter of the whole worker."""
        told = (self.trial.done.get("usage") or {}).get(name)
        return self.in_span(told, self.trial[seen or name])

    def told_by_threads(self, name):
        """The sum of what each thread told; None unless all did."""
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
        """The CPU time in the program and in the OS: the exact time, in proportion of ticks."""
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
        if len(self.spans) < 2:
            return None
        parts = [span["end_ns"] - span["start_ns"] for span in self.spans]
        ends = [span["end_ns"] - self.start for span in self.spans]
        if min(ends) >= TIME_OVER * self.case.time:
            parts = [span["bytes"] for span in self.spans]
        longest = max(parts)
        idle = sum(longest - part for part in parts)
        return 100 * idle / (len(parts) * longest) if longest else None

    def blocked_share(self):
        """The share of the threads' time in which they neither ran nor waited to run."""
        ready = self.run_delay_ns
        ran = self.in_span(self.told_by_threads("cpu_ns"), self.trial["cpu_ns"])
        if ready is None or ran is None or self.wall_ns <= 0:
            return None
        share = 1 - (ran + ready) / (self.case.threads * self.wall_ns)
        return min(max(share, 0.0), 1.0)

    @cached_property
    def latency(self):
        return Histogram([[self.trial.done["latencies"]]])

    def told(self, is_durable):
        """As the JSON has it."""
        latency = {name: self.latency.percentile(name) for name in TRIAL_PERCENTILES}
        latency["max"] = self.latency.max_ns if self.latency.count else None
        return {
            "bytes": self.bytes, "ops": self.ops, "elapsed_s": self.elapsed_ns / NS,
            "synced_s": None if self.synced_ns is None else self.synced_ns / NS,
            "throughput": self.throughput, "accepted": self.accepted,
            "durable": self.throughput if is_durable else None,
            "iops": self.iops, "latency_ns": latency,
        }
