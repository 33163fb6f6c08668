"""Asks ioassay a question on storage that is made for it, and watches what happens."""

import functools
import json
import os
import re
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass

import question
import shell
import storage
from trace import Trace

PATIENCE_S = 120
GROUPS = "/sys/fs/cgroup"
# Of a quota: what the kernel has unless told otherwise.
PERIOD_US = 100_000


class Refused(Exception):
    """ioassay would not run this question at all."""


@dataclass
class Trial:
    """A counted trial: its span by the record, in ns of CLOCK_MONOTONIC."""

    start: int
    # The end of the operations, and of the last sync.
    end: int
    synced: int
    bytes: int
    ops: int
    # What ioassay says that devices did meanwhile.
    evidence: dict

    @property
    def seconds(self):
        return (max(self.end, self.synced) - self.start) / 1e9


class Throttling:
    """How long a group's processes were held back by its quota, sampled while a run goes on."""

    def __init__(self, group):
        self.group, self.samples, self.ended = group, [], threading.Event()
        self.thread = threading.Thread(target=self.sample)

    def sample(self):
        while self.group and not self.ended.wait(0.01):
            with open(f"{self.group}/cpu.stat", encoding="ascii") as file:
                counts = dict(line.split() for line in file)
            self.samples.append((time.monotonic_ns(), int(counts["throttled_time"])))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.thread.join()

    def ns(self, start, end):
        """The time for which they were held back within a span, over all processors."""
        inside = [held for when, held in self.samples if start <= when <= end]
        return inside[-1] - inside[0] if inside else 0


@dataclass
class Played:
    """What came of a question."""

    question: object
    storage: storage.Storage
    # The numbers of its devices, from its own down.
    numbers: list
    said: dict
    # Counted trials by the ids of their cases.
    trials: dict
    trace: Trace
    status: int
    # The other forms of the same record, with the status of each.
    forms: dict
    # The options of `ioassay run`.
    options: frozenset
    # The share of the user's file that devices hold, and of that in the page cache at the start.
    stored: float = 1.0
    # What was found while the storage stood.
    found: list = ()
    commands: tuple = ()
    throttling: Throttling | None = None

    def rows(self):
        """The asked rows with their counted trials."""
        for row in self.said["cases"]:
            if row["role"] == "asked":
                yield row, self.trials.get(row["id"], [])


def make_file(asked, folder, sh):
    """A file that ioassay did not make; returns its name and the share that devices hold."""
    path = f"{folder}/file"
    bytes_ = asked.size + (1234 if asked.file == "odd size" else 0)
    sh.run(f"head -c {bytes_} /dev/urandom > {path}", f"rm -f {path}")
    stored = 1.0
    if asked.file == "holes":
        third = asked.size // 3 // 4096 * 4096
        sh.run(f"fallocate --punch-hole --offset 0 --length {max(third, 4096)} {path}")
        stored = 1 - max(third, 4096) / asked.size
    elif asked.file == "unwritten":
        sh.run(f"fallocate --length {2 * asked.size} {path}")
        stored = 0.5
    elif asked.file == "shared":
        sh.run(f"cp --reflink=auto {path} {path}.copy", f"rm -f {path}.copy")
    elif asked.file == "hard link":
        sh.run(f"ln {path} {path}.link", f"rm -f {path}.link")
        path += ".link"
    elif asked.file == "symbolic link":
        sh.run(f"ln -s {path} {path}.link", f"rm -f {path}.link")
        path += ".link"
    sh.run(f"sync -f {folder}")
    if asked.file == "partly cached":
        sh.run(f"dd if={path} iflag=nocache count=0 status=none")
        sh.run(f"head -c {max(asked.size // 2, 4096)} {path} > /dev/null")
    return path, stored


def groups_for(asked, numbers, sh):
    """Control groups with the question's limits, as folders: those in which it runs, and those that
    have the limits."""
    limits = []
    if asked.limit:
        device = numbers[0 if asked.limit.on == "own" else -1]
        limits.append(("blkio", f"blkio.throttle.{asked.limit.kind}_device",
                       f"{device} {asked.limit.value}"))
    if asked.quota:
        limits.append(("cpu", "cpu.cfs_quota_us", int(asked.quota * PERIOD_US)))
    if asked.group_memory:
        limits.append(("memory", "memory.limit_in_bytes", asked.group_memory))
    inside, limited = {}, {}
    for controller, name, value in limits:
        folder = limited[controller] = f"{GROUPS}/{controller}/ioassay-hunt-{os.getpid()}"
        # Its processes end with the run, a little later.
        sh.run(f"mkdir -p {folder}", f"rmdir {folder}")
        sh.run(f"echo '{value}' > {folder}/{name}")
        inside[controller] = folder
        if asked.above:
            inside[controller] = f"{folder}/inner"
            sh.run(f"mkdir {folder}/inner", f"rmdir {folder}/inner")
    return inside, limited


def neighbour_for(asked, folder, used, sh):
    """A program that reads or writes beside the run, past the page cache, or uses the file `used`;
    or None."""
    if asked.neighbour is None:
        return None
    if asked.neighbour in question.USERS:
        once = {"cacher": f"cat {used} > /dev/null",
                "evictor": f"dd of={used} oflag=nocache conv=notrunc,fdatasync count=0 status=none"}
        line = f"while true; do {once[asked.neighbour]}; sleep 0.02; done"
        return subprocess.Popen(["bash", "-c", line], start_new_session=True)
    path = f"{folder}/other"
    sh.run(f"head -c {16 << 20} /dev/urandom > {path}; sync -f {folder}", f"rm -f {path}")
    who, _, bursts = asked.neighbour.partition(" ")
    move = {"reader": f"if={path} of=/dev/null iflag=direct",
            "writer": f"if=/dev/zero of={path} oflag=direct conv=notrunc count=64"}
    once = f"dd {move[who]} bs=256k status=none"
    # The pauses are as long as ioassay needs to find the device quiet.
    line = f"while true; do {once}; {once}; {once}; sleep 0.25; done" if bursts \
        else f"while true; do {once}; done"
    return subprocess.Popen(["bash", "-c", line], start_new_session=True)


def run(program, asked, arguments, groups, record):
    """Runs ioassay; returns its status and what it printed as an error."""
    command = [program, "run", *arguments, "--record", record, "--json", "--color", "never",
               "--seed", str(asked.seed + 1)]
    if asked.memory:
        command += ["--memory", f"{asked.memory}B"]
    if asked.sustained:
        command += ["--sustain", f"{question.SUSTAIN_S}s"]
    if asked.hosts:
        command += ["--hosts", "a,b", "--launcher", "here", "--program", program]

    def enter():
        for group in groups:
            with open(f"{group}/cgroup.procs", "w", encoding="ascii") as file:
                file.write(str(os.getpid()))

    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S,
                              preexec_fn=enter, check=False)
    except subprocess.TimeoutExpired as error:
        raise Refused(f"no end after {PATIENCE_S} s") from error
    return done.returncode, done.stdout, done.stderr, command


def together(program, folder, said):
    """Rows of two hosts as if they were one: what both did by the time from the first start to the
    last end, and what is found of either."""
    rows, trials = [], {}
    records = sorted(f"{folder}/{name}" for name in os.listdir(folder))
    own = [json.loads(subprocess.run([program, "report", record, "--json"], capture_output=True,
                                     text=True, check=False).stdout) for record in records]
    parts = [counted(*both) for both in zip(records, own)]
    for case in said["cases"]:
        name = case["id"]
        same = [next(row for row in report["cases"] if row["id"] == name) for report in own]
        found = [finding for row in same for finding in row["findings"]]
        rows.append({**same[0], "role": "asked", "verdict": case["verdict"], "findings": found})
        for pair in zip(*(part.get(name, []) for part in parts)):
            trials.setdefault(name, []).append(Trial(
                min(one.start for one in pair), max(one.end for one in pair),
                max(one.synced for one in pair), sum(one.bytes for one in pair),
                sum(one.ops for one in pair), {}))
    return {"cases": rows, "findings": [], "comparisons": []}, trials


def counted(record, said):
    """The counted trials of each case."""
    cases, trials = None, {}
    fates = {(row["id"], trial["invocation"], trial["round"]): trial["fate"]
             for row in said["cases"] for trial in row["trials"]}
    ids = [row["id"] for row in said["cases"]]
    is_own = [row["case"]["peer"] == "rust" for row in said["cases"]]
    with open(record, encoding="utf-8") as lines:
        for line in lines:
            line = json.loads(line)
            if "header" in line:
                cases = line["header"]["plan"]["cases"]
                assert len(cases) == len(ids), "each case of the plan has a row"
            trial = line.get("trial")
            # A peer's spans are of a clock of its own.
            if not trial or "done" not in trial["outcome"] or not is_own[trial["case"]]:
                continue
            name = ids[trial["case"]]
            if fates.get((name, trial["invocation"], trial["round"])) != "counted":
                continue
            spans = trial["outcome"]["done"]["spans"]
            trials.setdefault(name, []).append(Trial(
                min(span["start_ns"] for span in spans), max(span["end_ns"] for span in spans),
                max(span.get("synced_ns") or 0 for span in spans),
                sum(span["bytes"] for span in spans), sum(span["ops"] for span in spans),
                trial["evidence"]))
    return trials


@functools.cache
def options_of(program):
    """The options of `ioassay run`."""
    done = subprocess.run([program, "run", "--help"], capture_output=True, text=True, check=True)
    return frozenset(re.findall(r"--[a-z][a-z-]+", done.stdout))


def forms_of(program, record, folder):
    """The record in each form, with the command's status."""
    metrics = f"{folder}/metrics"
    forms = {}
    for name, option in (("text", ()), ("csv", ("--csv",)), ("markdown", ("--markdown",)),
                         ("json", ("--json",)), ("metrics", ("--openmetrics", metrics))):
        done = subprocess.run([program, "report", record, *option], capture_output=True, text=True,
                              check=False, env=dict(os.environ, COLUMNS="400"))
        forms[name] = (done.returncode, done.stdout)
    with open(metrics, encoding="utf-8") as file:
        forms["metrics"] = (forms["metrics"][0], file.read())
    return forms


def nothing_more(_asked, _said, _ask, _path):
    """What a hunt by counts does while the storage stands."""
    return []


def play(asked, program, place, more=nothing_more):
    """Asks, in a new folder in `place`; raises Failed or Refused if that cannot be. While the
    storage stands, `more` may ask again, and what it returns is kept.
    """
    with tempfile.TemporaryDirectory(dir=place, prefix="hunt-") as work, shell.Shell() as sh:
        made = storage.plant(asked.kind, sh, work)
        numbers = [storage.number(device) for device in made.devices]
        arguments, stored, path = [], 1.0, None
        recipe, record = f"{work}/recipe.toml", f"{work}/record.jsonl"
        with open(recipe, "w", encoding="ascii") as file:
            file.write(asked.recipe())
        sh.lines.append(f"cat > {recipe} <<END\n{asked.recipe()}END")
        if asked.file:
            path, stored = make_file(asked, made.folder, sh)
            arguments = [recipe, "--file", path]
        elif asked.built_in:
            arguments = [*asked.arguments(), made.folder]
        else:
            place_of_it = ["--device", f"/dev/{made.own}", "--destroy", made.own] \
                if made.is_device else [made.folder]
            arguments = [recipe, *(place_of_it if asked.uses_files() else [])]
        inside, limited = groups_for(asked, numbers, sh)
        groups = list(inside.values())
        other = neighbour_for(asked, made.folder, path, sh)
        try:
            with Trace(numbers, made.has_requests, asked.neighbour is not None) as trace, \
                    Throttling(limited.get("cpu")) as throttling:
                status, out, error, command = run(program, asked, arguments, groups, record)
        finally:
            if other:
                os.killpg(other.pid, 9)
                other.wait()
                time.sleep(0.1)
        if status not in (0, 1):
            raise Refused(error.strip().splitlines()[-1] if error.strip() else f"status {status}")
        said = json.loads(out)
        enter = "".join(f"echo $$ > {group}/cgroup.procs; " for group in groups)
        commands = (*sh.lines, enter + " ".join(command))
        if asked.hosts:
            said, trials = together(program, record, said)
            return Played(asked, made, numbers, said, trials, trace, status, {},
                          options_of(program), stored, [], commands)

        def again(other, name):
            """Asks another question here, and returns the row of this name."""
            with open(recipe, "w", encoding="ascii") as file:
                file.write(other.recipe())
            # One that was refused left none.
            if os.path.exists(record):
                os.remove(record)
            words = arguments if other.uses_files() else [recipe]
            status, out, _, _ = run(program, other, words, groups, record)
            if status not in (0, 1):
                return None
            return next((row for row in json.loads(out)["cases"] if row["id"] == name), None)

        forms = forms_of(program, record, work)
        trials = counted(record, said)
        found = more(asked, said, again, made.folder)
        return Played(asked, made, numbers, said, trials, trace, status, forms,
                      options_of(program), stored, found, commands, throttling)
