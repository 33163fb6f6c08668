"""Commands that a person can type, and what undoes them."""

import subprocess


class Failed(Exception):
    """A command that did not work here."""


class Shell:
    """Runs commands, keeps their text, and undoes them in reverse order."""

    def __init__(self):
        self.lines = []
        self.undo = []

    def run(self, line, undone_by=None):
        """Runs `line` of sh and returns what it printed."""
        self.lines.append(line)
        done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failed(f"{line}: {done.stderr.strip() or done.returncode}")
        if undone_by:
            self.undo.append(undone_by)
        return done.stdout.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        while self.undo:
            line = self.undo.pop()
            for _ in range(100):
                done = subprocess.run(["sh", "-c", line], capture_output=True, check=False)
                if done.returncode == 0:
                    break
                # A device or a mount may be busy for a moment.
                subprocess.run(["sleep", "0.2"], check=False)
            else:
                print(f"hunt: left behind: {line}: {done.stderr.decode().strip()}", flush=True)
