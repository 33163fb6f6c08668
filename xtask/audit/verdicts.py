"""The findings of a whole run."""

import topology
from rows import SEVERITIES


def run_findings(rows, storage):
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
    return list(told.values())
