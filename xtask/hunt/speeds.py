"""Holds a sound figure against a plain program in C, and against the same case asked alone.

Speeds of a shared machine vary, so only ratios of runs that alternate decide, and only if all say
the same. None of this runs in the test command.
"""

import json
import os
import random
import shutil
import subprocess
from statistics import median

import play
import question
from laws import Fault, is_sound

# A figure that differs by more than this, each time, is a fault.
FACTOR = 1.5
PAIRS = 4
# Loops that the plain program has; a compiler's are as wide as the processor's.
LOOPS = {"read", "write", "copy", "triad"}
WAYS = {"read", "pread", "mmap", "write", "pwrite"}
CALLS = 7


def build(place):
    """Compiles the plain program."""
    program = os.path.join(place, "naive")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "naive.c")
    subprocess.run(["cc", "-O3", "-march=native", "-fno-tree-loop-distribute-patterns", "-Wall",
                    "-Werror", "-pthread", "-o", program, source], check=True)
    return program


def has_equal(case):
    """Whether the plain program does what this case does."""
    if case.get("kernel"):
        return case["kernel"] in LOOPS and case["isa"] in ("avx2", "avx512")
    axes = ("rate", "beside", "advice", "read_share", "call", "kernel")
    same = case.get("engine") in WAYS and case["depth"] == 1
    same &= all(case.get(name) in (None, "none", "no") for name in axes)
    same &= case["size"] % case["block"] == 0 and case["pattern"] in ("sequential", "random")
    if case.get("op"):
        return same and case["op"] == "write" and case["cache"] == "direct" \
            and case["allocation"] == "overwrite" and case["sync"] in ("none", "fdatasync",
                                                                       "fsync")
    return same and case["cache"] in ("warm", "cold", "direct") and case["touch"] == "sum"


def naive(program, case, path, slowed=1):
    """Bytes a second of the plain program, by the median of several calls."""
    rates = []
    for _ in range(CALLS):
        if case.get("kernel"):
            words = ["loop", case["kernel"], case["working_set"], case["threads"],
                     case["time_s"] * 1e3]
        else:
            words = [case["engine"], path, case["size"], case["block"], case["pattern"],
                     case["threads"], case["time_s"] * 1e3, case["cache"],
                     case.get("sync") or "none", case.get("every") or 0]
        done = subprocess.run([program, *map(str, words)], capture_output=True, text=True,
                              check=True)
        bytes_, seconds, _ = done.stdout.split()
        rates.append(int(bytes_) / float(seconds) / slowed)
    return median(rates)


def has_job(case):
    """Whether fio does what this case does: io_uring past the page cache."""
    axes = ("rate", "beside", "advice", "read_share", "call", "kernel")
    same = case.get("engine") == "uring" and case["cache"] == "direct"
    same &= all(case.get(name) in (None, "none", "no") for name in axes)
    return same and not case.get("op") and case["pattern"] in ("sequential", "random") \
        and case["submission"] in ("plain", "batch", "enter") and shutil.which("fio") is not None


def fio(_program, case, path, slowed=1):
    """Bytes a second of fio with the same job."""
    way = "read" if case["pattern"] == "sequential" else "randread"
    done = subprocess.run(
        ["fio", "--name=hunt", f"--filename={path}", f"--rw={way}", f"--bs={case['block']}",
         "--ioengine=io_uring", f"--iodepth={case['depth']}", f"--numjobs={case['threads']}",
         "--thread", "--direct=1", "--time_based", "--runtime=1", "--group_reporting",
         "--output-format=json", f"--size={case['size'] // case['block'] * case['block']}"],
        capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["jobs"][0]["read"]["bw_bytes"] / slowed


def held(chance, plain, slowed=1):
    """What `play` calls while the storage stands: chooses a sound row and holds its figure.

    `plain` is the program in C. `slowed` divides its speed: a fault to be found.
    """

    def more(asked, said, ask, folder):
        rows = [row for row in said["cases"] if row["role"] == "asked" and is_sound(row)
                and not row["case"].get("call")]
        if not rows or asked.file or asked.limit or asked.neighbour or asked.hosts \
                or asked.built_in or asked.quota or asked.group_memory or asked.sustained:
            return []
        return list(hold(chance.choice(rows), asked, ask, plain, folder, slowed))

    return more


def hold(row, asked, ask, plain, folder, slowed):
    """Yields faults of the figure of `row`. `ask` runs a question and returns its row of an id."""
    alone = asked.changed(cases=[axes for axes in asked.cases if describes(axes, row["case"])])
    path = os.path.join(folder, "plain")
    with open(path, "wb") as file:
        file.write(os.urandom(row["case"].get("size") or 0))
        os.fsync(file.fileno())
    by_others, by_plain = [], []
    for _ in range(PAIRS):
        rows = [ask(asked, row["id"]), ask(alone, row["id"])]
        if not all(found and is_sound(found) for found in rows):
            return
        among, single = (found["throughput"]["median"] for found in rows)
        by_others.append(single / among)
        other = naive if has_equal(row["case"]) else fio if has_job(row["case"]) else None
        if other:
            by_plain.append(single / other(plain, row["case"], path, slowed))
        if not (apart(by_others) or apart(by_plain)):
            return
    for ratios, other in ((by_others, "among other cases"),
                          (by_plain, "of a plain program or of fio")):
        if apart(ratios):
            yield Fault("speeds", row["id"], f"alone {' '.join(f'{r:.2f}' for r in ratios)} times "
                        f"the figure {other}, in {PAIRS} runs that alternate")


def describes(axes, case):
    """Whether a case of the question can be the row's."""
    def same(name, value):
        value = int(value[:-1]) if name in ("block", "working_set") else value
        return case.get(name) == value or isinstance(value, list) and case.get(name) in (
            None, *value)

    return ("op" in axes) == bool(case.get("op")) and all(same(*axis) for axis in axes.items())


def apart(ratios):
    return bool(ratios) and (all(ratio > FACTOR for ratio in ratios)
                             or all(ratio < 1 / FACTOR for ratio in ratios))


def test_itself(plain, program, place):
    """A plain program that is slowed down must be found."""
    asked = question.Question(0, "ext4", 8 << 20, 100,
                              [{"engine": "pread", "cache": "warm", "block": "65536B"}])
    played = play.play(asked, program, place, held(random.Random(0), plain, slowed=4))
    if not any(fault.law == "speeds" for fault in played.found):
        print("hunt: speeds are not held today: no sound row beside a plain program slowed down")
        return False
    return True
