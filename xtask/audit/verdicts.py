"""The findings of a whole run."""

from rows import SEVERITIES


def run_findings(rows, storage):
    """Each code once, with its highest severity and its cases."""
    told = {}
    for row in rows:
        for code, severity in row.findings.items():
            one = told.setdefault(code, {"code": code, "severity": severity, "cases": []})
            one["cases"].append(row.id)
            one["severity"] = max(one["severity"], severity, key=SEVERITIES.index)
    virtual = storage and any(device["is_virtual"] for device in storage["devices"])
    if virtual and any(row.served_by in ("device", "mixed") for row in rows):
        told["VirtualDevice"] = {"code": "VirtualDevice", "severity": "note", "cases": []}
    return list(told.values())
