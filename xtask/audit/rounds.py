"""Rounds excluded for disturbances by the machine, never for their figure."""

import topology
from intervals import median

GATES = ("steal", "throttled", "foreign", "reclaimed")
MIN_ROUNDS = 7
OUT_MOST = 0.20
STEAL_MOST = 0.10
STEAL_NS_MOST = 25_000_000
QUOTA_MOST = 0.05
FOREIGN_MOST = 0.20
DEVICE_LEAST = 0.99
WARM_LEAST = 0.999
FETCHED_MOST = 0.01


def quota_parts(row, one):
    """The time a quota throttled the worker, and the time of the quota's processors."""
    processors = min(row.threads_at_work, row.host["cores"])
    window = one.trial["window_ns"]
    window = one.without_pauses(window)
    return one.trial["throttled_ns"], None if window is None else window * processors


def share_of_others(row, trial):
    """The devices' reads for others, as a share of their reads for the worker."""
    task, others = trial["task_read_bytes"], topology.read_by_others(row.storage, trial)
    return others / task if others is not None and task else None


def by_window(part, window):
    """An amount per nanosecond of the window; None if unknown."""
    return part / window if part is not None and window else None


class Usual:
    """The typical values of a case: the same limits for all of its rounds."""

    def __init__(self, row):
        machine = median(trial["machine_cpu_ns"] for trial in row.done)
        self.stolen = max(STEAL_MOST, STEAL_NS_MOST / max(1.0, machine)) if machine is not None \
            else STEAL_MOST
        self.rate = median(by_window(trial["task_read_bytes"], trial["window_ns"])
                           for trial in row.done)


def is_stolen(trial, usual):
    stolen, machine = trial["steal_ns"], trial["machine_cpu_ns"]
    return stolen is not None and machine is not None and stolen > usual.stolen * machine


def is_foreign(trial, row, usual):
    task, others = trial["task_read_bytes"], topology.read_by_others(row.storage, trial)
    if row.medium != "block" or not row.file or None in (task, others) or row.shares_device:
        return False
    if task < DEVICE_LEAST * row.figures_of(trial).bytes:
        return False
    others = by_window(others, trial["window_ns"])
    return others is not None and bool(usual.rate) and others > FOREIGN_MOST * usual.rate


def is_reclaimed(trial, row):
    """Whether a trial that claims to be warm had parts of the file outside the page cache."""
    case = row.case
    if row.medium in (None, "ram") or case.cache != "warm":
        return False
    if not (row.file or (row.write and case.op == "write")):
        return False
    names = ("residency_before", "residency_after") if row.file else ("residency_before",)
    seen = [trial[name] for name in names if trial[name] is not None]
    if any(one["cached"] < WARM_LEAST * one["pages"] for one in seen):
        return True
    fetched = trial["task_read_bytes"]
    return bool(row.file) and fetched is not None and fetched > FETCHED_MOST * case.size


def gate(trial, row, usual):
    """The first gate that rejects a trial; None if it passes all."""
    if is_stolen(trial, usual):
        return "steal"
    held, window = quota_parts(row, row.figures_of(trial))
    if held is not None and window is not None and held > QUOTA_MOST * window:
        return "throttled"
    if is_foreign(trial, row, usual):
        return "foreign"
    return "reclaimed" if is_reclaimed(trial, row) else None


def left_out(row):
    """The excluded rounds, each with its gate."""
    if row.sustain is not None:
        return {}
    usual = Usual(row)
    out = {trial.round: gate(trial, row, usual) for trial in row.done}
    out = {number: reason for number, reason in out.items() if reason}
    n = len(row.done)
    is_few = len(out) <= OUT_MOST * n and n - len(out) >= MIN_ROUNDS
    return out if is_few else {}
