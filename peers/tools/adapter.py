"""A peer of ioassay that measures with another tool: fio, likwid-bench or sysbench.

../README.md describes the protocol and the capabilities of each tool; the rows of ../peers.toml
refuse most unsupported cases before they get here. A job is one run of the tool, without a shell.
Nothing is guessed: values that a tool does not report are omitted. So is the digest of bytes that
the tool does not sum, and ioassay then reports the row as unchecked.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from urllib.parse import quote_from_bytes, unquote_to_bytes

# fio reports its time in whole milliseconds: a shorter trial is off by more than 1 %.
FIO_LEAST_NS = 100_000_000
# A single pass over a file may end sooner. Below this, the time is off by more than 5 %.
FIO_LEAST_MS = 20
# The upper limit of fio's seeds.
FIO_SEEDS = 1 << 63
# The data that ioassay writes if `fill` is not random.
FILLS = {"zero": "--zero_buffers", "constant": "--buffer_pattern=0xab"}
HUGE_PAGES = "/sys/kernel/mm/transparent_hugepage/enabled"
HUGE_BYTES = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size"
# The C library asks for huge pages in place of a program that does not (glibc 2.35).
ASK_HUGE = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
HUGE_STEP_S = 0.005
LINE = 64
ARRAY_STEP = 4096


class Unavailable(Exception):
    """The tool has no such case."""


class Failed(Exception):
    """The tool ran and failed."""


def say(verb, **pairs):
    """Sends a line. Values are numbers or escaped text."""
    words = [verb]
    for key, value in pairs.items():
        text = str(value).encode("utf-8", "replace")
        words.append(f"{key}={quote_from_bytes(text, safe='/:,;()[]')}")
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


def read_job(line):
    """The pairs of a line, in bytes."""
    pairs = (word.partition(b"=") for word in line.split()[1:])
    return {key.decode("ascii"): unquote_to_bytes(value) for key, _, value in pairs}


class Job:
    """A job, its values parsed."""

    def __init__(self, pairs):
        self.pairs = pairs

    def text(self, key, usual=""):
        value = self.pairs.get(key)
        return usual if value is None else value.decode("utf-8", "replace")

    def number(self, key, usual="0"):
        return int(self.text(key, usual))

    def bytes(self, key):
        found = re.fullmatch(r"(\d+)(B|KiB|MiB|GiB|TiB)", self.text(key))
        if not found:
            raise Failed(f"the job has no valid {key}")
        shift = 10 * ["B", "KiB", "MiB", "GiB", "TiB"].index(found[2])
        return int(found[1]) << shift

    def time_ns(self):
        units = {"ns": 1, "us": 10**3, "ms": 10**6, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
        units.update({"day": 86400 * 10**9, "days": 86400 * 10**9})
        total = 0
        for word in self.text("time").split():
            found = re.fullmatch(r"(\d+)([a-z]+)", word)
            if not found or found[2] not in units:
                raise Failed(f"the job's time '{self.text('time')}' is not valid")
            total += int(found[1]) * units[found[2]]
        return total

    def seconds(self):
        """The time in whole seconds, at least one, because some tools take no fractions."""
        return max(1, math.ceil(self.time_ns() / 10**9))

    def demand(self, key, *known, usual=""):
        value = self.text(key, usual)
        if value not in known:
            raise Unavailable(f"it supports only {key} {' or '.join(known)}, not '{value}'")
        return value


def run(words, huge=0, **options):
    """The output of a tool. A failed tool is an error with its name and end. It must have `huge`
    bytes in huge pages at some time.
    """
    environment = {**os.environ, "LC_ALL": "C", **(ASK_HUGE if huge else {})}
    # Nobody reads a pipe while this looks for huge pages.
    with tempfile.TemporaryFile() as out_file, tempfile.TemporaryFile() as err_file:
        with subprocess.Popen(words, stdout=out_file, stderr=err_file, cwd="/",
                              stdin=subprocess.DEVNULL, env=environment, **options) as tool:
            # It has its buffers before it begins, so this seldom looks at a tool that measures.
            seen = 0
            while seen < huge and tool.poll() is None:
                seen = max(seen, bytes_in_huge_pages(tool.pid))
                time.sleep(HUGE_STEP_S)
        out, err = [(file.seek(0), file.read())[1] for file in (out_file, err_file)]
    said = (err.strip() or out.strip())[-500:].decode("utf-8", "replace")
    if tool.returncode < 0:
        raise Failed(f"{words[0]} was killed by signal {-tool.returncode}: {said}")
    if tool.returncode:
        raise Failed(f"{words[0]} ended with status {tool.returncode}: {said}")
    if seen < huge:
        raise Unavailable(f"the OS gave {words[0]} {seen} bytes in huge pages instead of {huge}")
    return out.decode("utf-8", "replace")


def bytes_in_huge_pages(pid):
    """The memory of a process in huge pages; 0 if it cannot be seen."""
    try:
        with open(f"/proc/{pid}/smaps_rollup", encoding="ascii", errors="replace") as file:
            found = re.search(r"^AnonHugePages:\s+(\d+) kB$", file.read(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) << 10 if found else 0


def take(text, pattern, of):
    """The number that `pattern` finds in the output of the tool `of`."""
    found = re.search(pattern, text, re.MULTILINE)
    if not found:
        raise Failed(f"{of} printed no '{pattern}'")
    return float(found[1])


class Fio:
    """Reads and writes with fio, through a descriptor of the job's file that is opened here. So fio
    never interprets the file's name, and can neither create nor delete a file.
    """

    ENGINES = {"null": "null", "read": "sync", "pread": "psync", "uring": "io_uring",
               "write": "sync", "pwrite": "psync"}

    def __init__(self, job):
        self.job, self.fd = job, None
        self.writes = job.text("op") == "write"
        if job.text("op") not in ("", "write") or job.text("kernel"):
            raise Unavailable("it has no such op or kernel")
        self.size, self.block = job.bytes("size"), job.bytes("block")
        self.threads, self.blocks = job.number("threads"), self.size // self.block
        self.ops = job.number("ops")
        self.huge = self.huge_page() if job.text("pages") == "huge" else 0
        self.check()
        if job.text("engine") != "null":
            self.open()

    def check(self):
        job = self.job
        engine = job.demand("engine", *self.ENGINES)
        job.demand("pattern", "sequential", "random")
        job.demand("touch", "none", usual="none")
        job.demand("advice", "none", "sequential", "random", usual="none")
        job.demand("submission", "enter", usual="enter")
        if self.threads > 1:
            job.demand("share", "contiguous")
        if engine not in ("uring", "null"):
            job.demand("depth", "1")
        if self.size % self.block or self.blocks % self.threads:
            raise Unavailable("its threads need whole blocks, and the same number each")
        if self.ops and self.ops != self.blocks and self.threads > 1:
            raise Unavailable("it counts the operations of one thread only")
        if self.huge and job.number("depth") * self.block % self.huge:
            raise Unavailable(f"the buffers of its threads fill no whole pages of {self.huge} bytes")
        if job.time_ns() < FIO_LEAST_NS:
            raise Unavailable("it reports whole milliseconds: use a --time of at least 100ms")
        if self.writes:
            job.demand("allocation", "overwrite", "fallocate")
            job.demand("fill", "random", *FILLS)
            sync = job.demand("sync", "none", "fsync", "fdatasync", "dsync")
            job.demand("every", *{"fsync": ("0", "1"), "fdatasync": ("1",)}.get(sync, ("0",)))

    def huge_page(self):
        try:
            with open(HUGE_BYTES, encoding="ascii") as file:
                return int(file.read())
        except OSError as error:
            raise Unavailable("this OS has no huge pages") from error

    def open(self):
        path = self.job.pairs.get("file", b"")
        try:
            self.fd = os.open(path, os.O_RDWR if self.writes else os.O_RDONLY)
            length = os.lseek(self.fd, 0, os.SEEK_END)
        except OSError as error:
            raise Failed(f"opening the file of the job failed: {error.strerror}") from error
        if length < self.size:
            raise Failed(f"the file has {length} bytes, fewer than {self.size}")

    def close(self):
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None

    def words(self):
        job = self.job
        part = self.size // self.threads
        rw = "write" if self.writes else "read"
        words = ["fio", "--name=ioassay", "--output-format=json+", "--eta=never", "--thread",
                 f"--ioengine={self.ENGINES[job.text('engine')]}",
                 f"--rw={'rand' * (job.text('pattern') == 'random')}{rw}",
                 f"--bs={self.block}", f"--iodepth={job.number('depth')}",
                 f"--numjobs={self.threads}", f"--size={part}", f"--offset_increment={part}",
                 f"--runtime={job.time_ns() // 10**6}ms", f"--randseed={job.number('seed') % FIO_SEEDS}",
                 "--invalidate=0", "--allow_file_create=0", "--fallocate=none",
                 "--lat_percentiles=1", "--clat_percentiles=0"]
        if self.fd is not None:
            words.append(f"--filename=/proc/self/fd/{self.fd}")
        if job.text("cache") == "direct":
            words.append("--direct=1")
        if self.huge:
            words.append(f"--iomem_align={self.huge}")
        if job.text("engine") == "uring":
            # The behavior of ioassay's engine with this name.
            words += ["--registerfiles", "--fixedbufs"]
        stays = not self.writes or self.is_rewritten()
        if stays and job.text("cache") != "cold" and not self.ops:
            words.append("--time_based")
        if self.ops and self.ops != self.blocks:
            words.append(f"--io_size={self.ops * self.block}")
        if self.writes:
            sync, fill = job.text("sync"), job.text("fill")
            words += [FILLS[fill]] if fill in FILLS else []
            words += {"none": [], "dsync": ["--sync=dsync"]}.get(sync, ["--end_fsync=1"])
            if job.number("every"):
                words.append(f"--{sync}=1")
        else:
            hint = job.text("advice", "none")
            words += ["--readonly", f"--fadvise_hint={'0' if hint == 'none' else hint}"]
        return words

    def perform(self):
        huge = self.job.number("depth") * self.block * self.threads if self.huge else 0
        text = run(self.words(), huge, pass_fds=[] if self.fd is None else [self.fd])
        start = text.find("{")
        if start < 0:
            raise Failed(f"fio printed no JSON: {text[-500:].strip()}")
        jobs = json.loads(text[start:])["jobs"]
        if len(jobs) != self.threads:
            raise Failed(f"fio reported {len(jobs)} threads instead of {self.threads}")
        return self.sample(jobs)

    def sample(self, jobs):
        spans, latencies, syncs, usage = [], {}, {}, {}
        longest = longest_sync = 0
        for thread, found in enumerate(jobs):
            if found["error"]:
                raise Failed(f"fio's thread {thread} failed: {os.strerror(found['error'])}")
            data = found["write" if self.writes else "read"]
            ops, bins = data["total_ios"], data["lat_ns"].get("bins", {})
            took_ns = data["runtime"] * 10**6
            if data["io_bytes"] != ops * self.block or sum(bins.values()) != ops:
                raise Failed(f"fio reported {data['io_bytes']} bytes in {ops} operations of "
                             f"{self.block} and {sum(bins.values())} latencies")
            if data["runtime"] < FIO_LEAST_MS:
                raise Unavailable(f"it reports whole milliseconds, and {data['runtime']} are too "
                                  "few: use a larger --size")
            longest = max(longest, data["lat_ns"]["max"])
            add(latencies, bins)
            cpu = {key: round(found[of] / 100 * found["job_runtime"] * 10**6)
                   for key, of in (("user_ns", "usr_cpu"), ("system_ns", "sys_cpu"))}
            more = {"cpu_ns": sum(cpu.values())}
            cpu.update(more, minor_faults=found["minf"], major_faults=found["majf"])
            usage = {key: usage.get(key, 0) + value for key, value in cpu.items()}
            if self.writes and self.job.text("sync") != "none":
                more["synced_ns"] = 1 + took_ns
                of_sync = found["sync"]["lat_ns"]
                add(syncs, of_sync.get("bins", {}))
                more["sync_ns"] = round(of_sync.get("mean", 0) * of_sync["N"])
                longest_sync = max(longest_sync, of_sync.get("max", 0))
            if self.is_known(ops):
                more["digest"] = 0
            spans.append(dict(thread=thread, start_ns=1, end_ns=1 + took_ns,
                              bytes=data["io_bytes"], ops=ops, **more))
        return dict(spans=spans, latencies=latencies, longest=longest, syncs=syncs,
                    longest_sync=longest_sync, usage=usage)

    def is_rewritten(self):
        """Whether a trial may write the file more than once. What one sync at the end makes durable
        is written once."""
        is_call = self.job.text("sync") in ("fdatasync", "fsync", "msync")
        has_one_sync = is_call and not self.job.number("every")
        return self.job.text("allocation") == "overwrite" and not has_one_sync

    def is_known(self, ops):
        """Whether the file now has the content that ioassay expects, in known blocks. The random
        order is fio's own, so only a complete pass is known then."""
        if not self.writes or self.job.text("fill") not in FILLS:
            return False
        return self.job.text("pattern") == "sequential" or ops >= self.blocks // self.threads


def add(counts, bins):
    for ns, count in bins.items():
        counts[int(ns)] = counts.get(int(ns), 0) + count


class Memory:
    """A memory case: passes over arrays, in one run of the tool."""

    KERNELS = {}

    def __init__(self, job):
        self.job, self.kernel = job, job.demand("kernel", *self.KERNELS)
        job.demand("isa", "auto")
        job.demand("pages", "base")
        self.threads = job.number("threads")
        self.arrays = {"copy": 2, "copy-nt": 2, "triad": 3, "triad-nt": 3}.get(self.kernel, 1)
        share = job.bytes("working_set") // self.threads // self.arrays
        self.array = max(ARRAY_STEP, math.ceil(share / ARRAY_STEP) * ARRAY_STEP)
        try:
            with open(HUGE_PAGES, encoding="ascii") as file:
                if "[always]" in file.read():
                    raise Unavailable("the OS gives it huge pages that it did not request")
        except OSError:
            pass

    def close(self):
        pass

    def told(self, passes, seconds):
        """The sample for this number of passes of all threads together."""
        if passes < self.threads or seconds <= 0:
            raise Failed("the tool reported no pass for each thread, or no time")
        end_ns = 1 + round(seconds * 10**9)
        spans = []
        for thread in range(self.threads):
            # A tool may give its passes to whichever thread is free: who made the last is unknown.
            own = passes // self.threads + (thread < passes % self.threads)
            ops = own * (self.array // LINE)
            spans.append(dict(thread=thread, start_ns=1, end_ns=end_ns,
                              bytes=ops * LINE * self.arrays, ops=ops))
        return dict(spans=spans, latencies={}, longest=0, syncs={}, longest_sync=0, usage={})


class Likwid(Memory):
    """likwid-bench: it pins its threads, and doubles its passes until they take the time."""

    KERNELS = {"read": "load", "write": "store", "write-nt": "store_mem", "copy": "copy",
               "copy-nt": "copy_mem", "triad": "stream", "triad-nt": "stream_mem"}

    def test(self):
        """The test for the widest vectors that both this processor and likwid-bench support."""
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            flags = set(re.findall(r"\w+", next((l for l in file if l.startswith("flags")), "")))
        known = set(re.findall(r"^(\w+) - ", run(["likwid-bench", "-a"]), re.MULTILINE))
        name = self.KERNELS[self.kernel]
        for suffix, needs in (("_avx512_fma", {"avx512f"}), ("_avx512", {"avx512f"}),
                              ("_avx_fma", {"avx", "fma"}), ("_avx", {"avx"}), ("_sse", {"sse2"})):
            if name + suffix in known and needs <= flags:
                return name + suffix
        return name

    def perform(self):
        size = self.array * self.threads * self.arrays
        text = run(["likwid-bench", "-t", self.test(), "-W", f"N:{size}B:{self.threads}",
                    "-s", str(self.job.seconds())])
        if take(text, r"^Size \(Byte\):\s+(\d+)", "likwid-bench") != size:
            raise Failed(f"likwid-bench used arrays of another size than {size} bytes")
        passes = take(text, r"^Iterations per thread:\s+(\d+)", "likwid-bench")
        seconds = take(text, r"^Time:\s+(\S+) sec", "likwid-bench")
        return self.told(int(passes) * self.threads, seconds)


class Sysbench(Memory):
    """sysbench memory: for each thread a block of its own, as large as its array."""

    KERNELS = {"read": "read", "write": "write"}

    def __init__(self, job):
        super().__init__(job)
        if self.array & (self.array - 1):
            raise Unavailable("its block size must be a power of two")

    def perform(self):
        text = run(["sysbench", "memory", f"--memory-block-size={self.array}",
                    f"--memory-oper={self.KERNELS[self.kernel]}", "--memory-total-size=1000T",
                    "--memory-scope=local", f"--threads={self.threads}",
                    f"--time={self.job.seconds()}", "run"])
        passes = take(text, r"total number of events:\s+(\d+)", "sysbench")
        return self.told(int(passes), take(text, r"total time:\s+(\S+)s$", "sysbench"))


TOOLS = {"fio": Fio, "likwid-bench": Likwid, "sysbench": Sysbench}


def tell(sample):
    for span in sample["spans"]:
        say("span", **span)
    for verb, of, longest in (("latency", "latencies", "longest"), ("sync", "syncs",
                                                                    "longest_sync")):
        # The tool rounds to the middle of a bucket, which may exceed the maximum.
        counts = {}
        for ns, count in sample[of].items():
            ns = min(ns, sample[longest])
            counts[ns] = counts.get(ns, 0) + count
        for ns in sorted(counts):
            say(verb, ns=ns, count=counts[ns])
    say("done", setup_ns=0, max_ns=sample["longest"], sync_max_ns=sample["longest_sync"],
        **sample["usage"])


def answer(tool, ready, line):
    """Answers a line. Returns the tool that is ready for the next one."""
    if ready is not None:
        try:
            if line.strip() == b"go":
                tell(ready.perform())
        finally:
            ready.close()
    if line.startswith(b"job "):
        ready = tool(Job(read_job(line)))
        say("ready")
        return ready
    # After an outcome, `go` releases the job, which holds nothing here.
    return None


def main():
    tool, ready = TOOLS[sys.argv[1]], None
    say("hello", protocol=2, name=sys.argv[1], version=1)
    for line in sys.stdin.buffer:
        held, ready = ready, None
        try:
            ready = answer(tool, held, line)
        except Unavailable as reason:
            say("unavailable", reason=reason)
        except Failed as reason:
            say("failed", reason=reason)
        except (OSError, ValueError, LookupError, TypeError) as reason:
            say("failed", reason=f"{type(reason).__name__}: {reason}")


if __name__ == "__main__":
    main()
