"""The findings of a whole run."""

import links
import machine
import path
import told
import topology
import vitals


def run_findings(rows, record):
    """Each code and severity once, with its cases and its baselines."""
    entries = {}
    for row in rows:
        for code, severity in row.findings.items():
            one = entries.setdefault((code, severity), {
                "code": code, "severity": severity, "cases": [], "baselines": []})
            one["cases" if row.role == "asked" else "baselines"].append(row.id)
    # A row may have the same code, and then it is told of both.
    writes = any(row.case.is_write or row.case.call or row.case.command for row in rows)
    codes = of_paths_and_machine(record, writes)
    devices = topology.disks(record.storage["devices"]) if record.storage else []
    is_served = any(row.served_by in ("device", "mixed") for row in rows)
    if is_served and any(one["is_virtual"] for one in devices):
        codes.append("VirtualDevice")
    return list(entries.values()) + with_numbers(codes, record)


def of_run(code):
    """A note that is about no row."""
    return {"code": code, "severity": "note", "cases": [], "baselines": []}


def with_numbers(codes, record):
    """Notes about no row, with the numbers that their messages must have, where these are known."""
    known, names = told.of_run(record), told.names(record)
    return [{**of_run(code), **({told.KEY: (known[code], names)} if code in known else {})}
            for code in codes]


def of_paths_and_machine(record, writes):
    """The codes of what is odd on the paths, in the machine and in what changed, each once."""
    tops, is_guest = [one["path"] for one in record.on_paths], bool(record.host.get("hypervisor"))
    found = vitals.changes(record.vitals, is_guest) + path.oddities(tops, is_guest, writes)
    found += machine.oddities(record.host, tops)
    found += ["SharedPath"] if links.is_shared(tops, is_guest) else []
    return sorted(set(found))


# Every code that may be of the paths or the machine.
OF_RUN = ("Capped", "ChannelsEmpty", "CopyOnWrite", "Degraded", "HardwareErrors", "Hot",
          "LinkDowngraded", "MemoryErrors", "Misaligned", "Rebuilding", "SharedPath", "SlowPort",
          "SoftwareAes", "WriteCacheOff")


def of_commands(record, said):
    """The findings on paths and machine that ioassay says of commands, and the audit's. The others
    are not audited."""
    audited = [one for one in said["findings"] if one["code"] in OF_RUN]
    found = with_numbers(of_paths_and_machine(record, writes=True), record)
    return {"findings": audited}, {"findings": found}
