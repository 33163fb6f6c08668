"""Recomputes a record's answer from its raw lines, and tells what differs.

Usage: main.py IOASSAY RECORD...
"""

import json
import subprocess
import sys

import commands
import verdicts
from assessment import UNDECIDED, assess
from held import Held
from record import Record


def said_by(program, path):
    """ioassay's answer for the record at `path`."""
    output = subprocess.run([program, "report", path, "--json"], capture_output=True, check=False)
    if output.returncode not in (0, 1):
        raise RuntimeError(f"{program} report {path}: {output.stderr.decode()}")
    return json.loads(output.stdout)


def audit(path, said):
    """Compares `said` with the audit's answer for the record at `path`."""
    held = Held()
    record = Record.read(path)
    if commands.is_of_commands(record):
        held.hold(said, commands.assess(record, said))
        held.hold(*verdicts.of_commands(record, said))
        return held
    found = assess(record, said)
    held.undecided = found.pop(UNDECIDED)
    held.hold(said, found)
    return held


def tell(path, held):
    """Prints how many values were compared, and each mismatch."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(held.by_kind.items()))
    print(f"{path}: {sum(held.by_kind.values())} values ({kinds}); "
          f"{100 * held.coverage:.1f} % of the numbers; {len(held.mismatches)} differ")
    for name in held.undecided:
        print(f"  left to ioassay, because random orders may decide either way: {name}")
    for name, count in sorted(held.not_audited.items()):
        print(f"  not audited: {name} ({count})")
    for path, said, found in held.mismatches:
        print(f"  MISMATCH {path}: ioassay says {said}, the audit computes {found}")


def main(arguments):
    program, *paths = arguments
    differs = False
    for path in paths:
        held = audit(path, said_by(program, path))
        tell(path, held)
        differs |= bool(held.mismatches)
    return 1 if differs else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
