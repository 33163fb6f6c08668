"""The findings of a whole run."""

import path
import topology
from rows import SEVERITIES


def run_findings(rows, storage, host):
    """Each code and severity once, with its cases and its baselines."""
    told = {}
    for row in rows:
        for code, severity in row.findings.items():
            one = told.setdefault((code, severity), {
                "code": code, "severity": severity, "cases": [], "baselines": []})
            one["cases" if row.role == "asked" else "baselines"].append(row.id)
    virtual = storage and any(one["is_virtual"] for one in topology.disks(storage["devices"]))
    if virtual and any(row.served_by in ("device", "mixed") for row in rows):
        told["VirtualDevice"] = {
            "code": "VirtualDevice", "severity": "note", "cases": [], "baselines": []}
    writes = any(row.case.is_write or row.case.call or row.case.command for row in rows)
    for code in path.oddities(storage, host, writes):
        # A row may have the same code, and then it is told of both.
        told[code, "note", "path"] = {"code": code, "severity": "note", "cases": [], "baselines": []}
    return list(told.values())
