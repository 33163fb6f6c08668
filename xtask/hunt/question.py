"""Random questions: a recipe, the storage it runs on, and what is planted beside it."""

import copy
import json
from dataclasses import asdict, dataclass, field

import storage

KIB, MIB = 2**10, 2**20
ROUNDS = 7
# Of two invocations.
ROUNDS_OF_TWO = 10
# How long writes go on that are to become steady, at most.
SUSTAIN_S = 10
TIMES_MS = (50, 50, 100, 200)
# Sizes of files; some are no multiple of anything.
SIZES = (4 * KIB, 64 * KIB, 1 * MIB, 1 * MIB + 4096, 4 * MIB, 8 * MIB, 8 * MIB, 24 * MIB,
         64 * MIB, 47 * 4096, 6 * MIB - 8192)
# Now and then; the largest do not fit into an image.
LARGE = (160 * MIB, 256 * MIB, 400 * MIB)
LARGEST = 1024 * MIB
SIZES_MAX = max(SIZES)
# The limit of the workers' memory, if there is one: for files, and for the large ones.
MEMORY, MEMORY_OF_LARGE = 48 * MIB, 96 * MIB
# That of a group also holds ioassay itself.
MEMORY_OF_GROUP = 128 * MIB
QUOTAS = (0.2, 0.5)
BLOCKS = (4 * KIB, 4 * KIB, 8 * KIB, 12 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, 1 * MIB)
RATES = (200, 1000, 5000)
LADDERS = ([1000, 4000, 16000], [2000, 8000])
# Arrays: in each cache, and far beyond them.
ARRAYS = (16 * KIB, 256 * KIB, 4 * MIB, 160 * MIB, 160 * MIB, 256 * MIB)
LOOPS = ("read", "write", "write-nt", "copy", "copy-nt", "triad", "triad-nt", "count", "chase",
         "touch-pages", "first-touch", "read-pages")
# What can be true of a file that ioassay did not make.
FILES = ("whole", "odd size", "holes", "unwritten", "shared", "partly cached", "hard link",
         "symbolic link")
LIMIT_KINDS = ("read_bps", "write_bps", "read_iops", "write_iops")
BYTES_LIMITS = (10 * MIB, 20 * MIB, 50 * MIB)
REQUESTS_LIMITS = (200, 1000)
# Recipes whose cases need no longer time or larger file than these questions have.
BUILT_IN = ("page-latency", "read-methods", "uring-ladder", "write-strategies", "touch-pages",
            "sync-latency", "load", "depth", "interference", "oltp", "lsm", "mixed", "metadata")
# Storage that can only be written.
RAW = "raw device"
# One without a pause makes ioassay wait for a quiet device in vain, a minute for each question.
NEIGHBOURS = {"reader": 1, "writer": 1, "reader in bursts": 8, "writer in bursts": 8}
# Those that use the same file: they bring it into the page cache, or evict it.
USERS = ("cacher", "evictor")


@dataclass
class Limit:
    """A limit of the control group in which ioassay runs."""

    # "own" or "below": which of the storage's devices.
    on: str
    kind: str
    value: int


@dataclass
class Question:
    """All that is needed to ask it again."""

    seed: int
    kind: str
    size: int
    time_ms: int
    cases: list
    actors: dict = field(default_factory=dict)
    # One of FILES: the run reads a file that it did not make.
    file: str | None = None
    limit: Limit | None = None
    neighbour: str | None = None
    # Two hosts, which are this machine, measure at the same time.
    hosts: bool = False
    # The workers' memory is limited, so that a larger file does not stay cached.
    memory: int | None = None
    # The name of a recipe that ioassay has, asked in place of the cases.
    built_in: str | None = None
    invocations: int = 1
    # Writes go on until they are steady.
    sustained: bool = False
    # The control group in which ioassay runs may use so many processors, and so much memory.
    quota: float | None = None
    group_memory: int | None = None
    # All limits are those of the group above that one.
    above: bool = False

    def arguments(self):
        """What makes a recipe of ioassay's own short."""
        file = ["--entries", "200"] if self.built_in == "metadata" \
            else ["--size", f"{self.size}B"]
        return [self.built_in, *file, "--time", f"{self.time_ms}ms", "--rounds", str(ROUNDS),
                "--invocations", "1", "--no-ceilings"]

    def recipe(self):
        """The recipe's text."""
        rounds = ROUNDS if self.invocations == 1 else ROUNDS_OF_TWO
        lines = ['name = "hunted"', 'question = "Is each sound row what it says?"',
                 *([f'size = "{self.size}B"'] if self.uses_files() else []),
                 f"rounds = {rounds}", f"invocations = {self.invocations}",
                 f'time = "{self.time_ms}ms"', "ceilings = false"]
        for name, axes in self.actors.items():
            lines += ["", f"[actors.{name}]", *assignments(axes)]
        for axes in self.cases:
            lines += ["", "[[cases]]", *assignments(axes)]
        return "\n".join(lines) + "\n"

    def uses_files(self):
        return bool(self.built_in) or any("kernel" not in axes for axes in self.cases)

    def simpler(self):
        """Questions that ask a little less, the simplest first."""
        for index in range(len(self.cases)):
            if len(self.cases) > 1:
                yield self.changed(cases=[self.cases[index]])
        for name, none in (("neighbour", None), ("limit", None), ("file", None), ("hosts", False),
                           ("memory", None), ("invocations", 1), ("sustained", False),
                           ("quota", None), ("group_memory", None), ("above", False)):
            if getattr(self, name) != none:
                # A neighbor may use the file.
                more = {"neighbour": None} if name == "file" else {}
                yield self.changed(**{name: none}, **more)
        if self.built_in:
            return
        for kind in storage.SIMPLEST:
            if self.kind != kind:
                yield self.changed(kind=kind)
        for index, axes in enumerate(self.cases):
            for axis in axes:
                if axis not in ("op", "engine", "call", "cache", "sync"):
                    fewer = {name: value for name, value in axes.items() if name != axis}
                    cases = [*self.cases[:index], fewer, *self.cases[index + 1:]]
                    yield self.changed(cases=cases)

    def to_json(self):
        return json.dumps(asdict(self))

    @staticmethod
    def of_json(text):
        fields = json.loads(text)
        limit = fields.pop("limit", None)
        return Question(**fields, limit=limit and Limit(**limit))

    def changed(self, **fields):
        other = copy.deepcopy(self)
        for name, value in fields.items():
            setattr(other, name, copy.deepcopy(value))
        return other


def assignments(axes):
    def text(value):
        if isinstance(value, list):
            return "[" + ", ".join(text(item) for item in value) + "]"
        return str(value) if isinstance(value, int) else f'"{value}"'

    return [f"{name} = {text(value)}" for name, value in axes.items()]


def size(value):
    return f"{value}B"


def maybe(random, chance, axes):
    """`axes` with this chance, else nothing."""
    return axes if random.random() < chance else {}


def reading(random):
    engine = random.choice(("pread", "pread", "pread", "read", "read", "mmap", "mmap", "uring",
                            "uring", "uring", "buffered", "load"))
    caches = ["direct", "cold", "dontcache", "as-is", "warm", "warm"]
    if engine not in ("pread", "uring"):
        caches = [cache for cache in caches if cache != "dontcache"]
    if engine in ("mmap", "buffered"):
        caches.remove("direct")
    axes = {"engine": engine, "cache": random.choice(caches), "block": size(random.choice(BLOCKS)),
            "pattern": random.choice(("sequential", "random"))}
    axes |= maybe(random, 0.3, {"threads": random.choice((2, 3))})
    axes |= maybe(random, 0.3, {"touch": random.choice(("none", "page", "sum", "count"))})
    axes |= maybe(random, 0.15, random.choice((
        {"pattern": "strided", "stride": random.choice((3, 16))},
        {"pattern": "zipf", "theta": random.choice(("0.6", "1.2"))})))
    axes |= maybe(random, 0.1, {"share": "interleaved"})
    axes |= maybe(random, 0.1, {"ops": random.choice(("all", 100, 1000))})
    if axes["cache"] == "warm":
        axes |= maybe(random, 0.2, {"populated": random.choice(("readahead", "random", "written"))})
    if engine == "uring":
        axes |= maybe(random, 0.7, {"depth": random.choice((2, 4, 16))})
        axes |= maybe(random, 0.3, {"submission": random.choice(("batch", "fixed", "enter",
                                                                 "iopoll"))})
    if engine == "mmap":
        axes |= maybe(random, 0.4, {"advice": random.choice(("sequential", "random", "willneed",
                                                             "populate"))})
    axes |= maybe(random, 0.1, {"rate": random.choice((*RATES, *LADDERS))})
    axes |= maybe(random, 0.05, {"pages": "huge"})
    return axes


def writing(random):
    engine = random.choice(("pwrite", "pwrite", "write", "mmap", "uring", "buffered"))
    caches = ["warm", "cold", "as-is"]
    if engine not in ("mmap", "buffered"):
        caches += ["direct", "direct", "dontcache"]
    axes = {"op": "write", "engine": engine, "cache": random.choice(caches),
            "block": size(random.choice(BLOCKS)),
            "allocation": random.choice(("none", "fallocate", "overwrite", "overwrite", "overwrite",
                                         "append"))}
    syncs = ("none", "fdatasync", "fdatasync", "fsync", "dsync", "sync-file-range")
    axes["sync"] = random.choice(("none", "msync", "msync", "fdatasync") if engine == "mmap"
                                 else syncs)
    if axes["sync"] not in ("none", "dsync"):
        axes |= maybe(random, 0.5, {"every": random.choice((1, 4, 16))})
    axes |= maybe(random, 0.3, random.choice(({"pattern": "random"}, {"pattern": "random"},
                                              {"pattern": "strided", "stride": 3})))
    axes |= maybe(random, 0.3, {"threads": random.choice((2, 3))})
    axes |= maybe(random, 0.1, {"ops": random.choice(("all", 100))})
    axes |= maybe(random, 0.2, {"fill": random.choice(("constant", "zero"))})
    if engine == "uring":
        axes |= maybe(random, 0.7, {"depth": random.choice((2, 4, 16))})
    axes |= maybe(random, 0.1, {"rate": random.choice((*RATES, *LADDERS))})
    axes |= maybe(random, 0.05, {"pages": "huge"})
    return axes


def copying(random):
    """A copy, which some file systems make by sharing what is there."""
    engine = random.choice(("write", "pwrite", "copy-file-range", "copy-file-range", "sendfile",
                            "splice", "uring"))
    axes = {"op": "copy", "engine": engine, "cache": random.choice(("warm", "cold", "as-is")),
            "block": size(random.choice(BLOCKS)),
            "allocation": random.choice(("none", "fallocate", "overwrite"))}
    if engine in ("pwrite", "uring"):
        axes |= maybe(random, 0.4, {"cache": "direct"})
    axes["sync"] = random.choice(("none", "fdatasync", "fsync"))
    if axes["sync"] != "none":
        axes |= maybe(random, 0.3, {"every": random.choice((1, 4))})
    return axes


def mixing(random):
    axes = {"op": "write", "engine": random.choice(("pwrite", "uring")),
            "cache": random.choices(("direct", "as-is"), (19, 1))[0],
            "pattern": random.choice(("random", "random", "random", "sequential")),
            "block": size(random.choice(BLOCKS)), "allocation": "overwrite",
            "sync": random.choice(("none", "fdatasync", "fsync", "dsync")),
            "read_share": random.choice((10, 50, 90))}
    if axes["sync"] in ("fdatasync", "fsync"):
        axes |= maybe(random, 0.4, {"every": random.choice((1, 4, 16))})
    if axes["engine"] == "uring":
        axes |= maybe(random, 0.5, {"depth": random.choice((2, 16))})
    axes |= maybe(random, 0.1, {"rate": random.choice(RATES)})
    return axes | maybe(random, 0.3, {"threads": 2})


def naming(random):
    call = random.choice(("create", "stat", "open", "readdir", "rename", "unlink"))
    axes = {"call": call, "entries": random.choice((20, 200, 1000)),
            "directories": random.choice(("own", "shared"))}
    if call in ("create", "rename", "unlink"):
        axes |= maybe(random, 0.5, {"sync": "fsync"})
    else:
        axes |= maybe(random, 0.6, {"cache": random.choice(("warm", "cold"))})
    return axes | maybe(random, 0.4, {"threads": random.choice((2, 2, 4))})


def remembering(random):
    """A loop over arrays."""
    loop = random.choice(LOOPS)
    axes = {"kernel": loop, "working_set": size(random.choice(ARRAYS))}
    if loop in ("chase", "touch-pages", "first-touch", "read-pages"):
        axes["isa"] = "scalar"
    else:
        axes |= maybe(random, 0.3, {"isa": random.choice(("scalar", "sse2", "avx2"))})
    axes |= maybe(random, 0.3, {"threads": 2})
    return axes | maybe(random, 0.5, {"pages": random.choice(("base", "huge"))})


def acting(random):
    if random.random() < 0.5:
        return {"engine": "pread", "cache": "direct", "block": size(random.choice(BLOCKS))}
    axes = {"op": "write", "engine": "pwrite", "cache": "direct",
            "block": size(random.choice(BLOCKS)), "allocation": "overwrite"}
    return axes | random.choice(({"sync": "none"}, {"sync": "fdatasync", "every": 4}))


def fit(axes, file_size, random):
    """Makes most cases possible: a block fits into the file, and each thread has one; a file that
    is empty at the start is neither warm nor cold, and appended to in one order."""
    if "block" not in axes:
        return
    if random.random() < 0.9:
        if axes.get("allocation") in ("none", "append") and axes["cache"] in ("warm", "cold"):
            axes["cache"] = "as-is"
        if axes.get("allocation") == "append":
            axes.pop("pattern", None)
            axes.pop("threads", None)
    blocks = [block for block in BLOCKS if block <= file_size]
    block = min(int(axes["block"][:-1]), blocks[-1])
    if axes["cache"] == "direct" and "op" in axes and file_size % block:
        block = 4 * KIB
    axes["block"] = size(block)
    if axes.get("threads", 1) > file_size // block:
        del axes["threads"]


def draw(random, seed):
    """A question; the same one for the same state of `random`."""
    kind = random.choice(tuple(storage.KINDS))
    if random.random() < 0.03 and kind != RAW:
        return Question(seed, kind, random.choice((8 * MIB, 24 * MIB)), 50, [],
                        built_in=random.choice(BUILT_IN))
    file_size = random.choice(LARGE if random.random() < 0.05 else SIZES)
    if kind == "plain" and random.random() < 0.05:
        file_size = LARGEST
    asked = Question(seed, kind, file_size, random.choice(TIMES_MS), [])
    number = random.choice((1, 2, 2, 3, 3, 4))
    if kind == RAW:
        asked.cases = [random.choice((writing, writing, mixing))(random) for _ in range(number)]
        for axes in asked.cases:
            axes |= {"allocation": "overwrite"} | ({} if axes["cache"] == "direct"
                                                   else {"cache": "as-is"})
    elif random.random() < 0.25:
        asked.file = random.choice(FILES)
        asked.cases = [reading(random) for _ in range(number)]
    else:
        families = random.choices((reading, writing, mixing, naming, remembering, copying),
                                  (8, 8, 3, 2, 1, 2), k=number)
        asked.cases = [family(random) for family in families]
    for axes in asked.cases:
        fit(axes, asked.size, random)
    has_own_device = kind not in ("plain", "tmpfs")
    has_files = kind != RAW
    if not asked.file and random.random() < 0.15:
        asked.actors = {"other": acting(random)}
        beside = random.choice(asked.cases)
        if "call" not in beside and "kernel" not in beside:
            beside["beside"] = ["none", "other"]
    if not any("beside" in case for case in asked.cases):
        asked.actors = {}
    if random.random() < 0.2 and has_own_device and kind != "zram":
        on = random.choice(("own", "below"))
        # Making a large file under a limit on writes takes minutes.
        limit = random.choice(LIMIT_KINDS if asked.size <= 24 * MIB else LIMIT_KINDS[::2])
        values = BYTES_LIMITS if limit.endswith("bps") else REQUESTS_LIMITS
        asked.limit = Limit(on, limit, random.choice(values))
    elif random.random() < 0.2 and has_own_device and asked.file:
        asked.neighbour = random.choice(USERS)
    elif random.random() < 0.15 and has_own_device and has_files:
        asked.neighbour, = random.choices(tuple(NEIGHBOURS), tuple(NEIGHBOURS.values()))
    if not asked.actors and not asked.file and has_files and random.random() < 0.08:
        asked.hosts = True
    elif asked.size > MEMORY and random.random() < 0.3:
        asked.memory = MEMORY if asked.size <= SIZES_MAX else MEMORY_OF_LARGE
    if not asked.memory and not asked.hosts:
        if random.random() < 0.05:
            asked.quota = random.choice(QUOTAS)
        if asked.size > MEMORY and random.random() < 0.2:
            asked.group_memory = MEMORY_OF_GROUP
    asked.above = random.random() < 0.3 and bool(asked.limit or asked.quota or asked.group_memory)
    if random.random() < 0.05:
        asked.invocations = 2
    elif not asked.actors and not asked.hosts and random.random() < 0.02 \
            and all("op" in axes and "rate" not in axes for axes in asked.cases):
        asked.sustained = True
        asked.cases = asked.cases[:1]
    return asked
