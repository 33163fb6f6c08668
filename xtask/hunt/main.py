"""Hunts for rows that are called sound and are not.

A question is drawn from its number, asked on storage made for it, and held against laws. What
breaks one is asked again in ever smaller forms, and printed as commands that a person can paste.
"""

import argparse
import collections
import json
import os
import random
import signal
import sys
import tempfile
import time
from datetime import date

import alone
import figures
import forms
import laws
import play
import question
import shell
import speeds
import words

# Tries of a smaller question, when a fault is shrunk, and their time.
SHRINKS_MAX, SHRINK_S = 40, 120
# Faults of one law that are shrunk; more of them are mostly the same one.
SHRUNK_MAX = 2
# The share of questions of which a case is asked alone, too.
ALONE = 0.05
LAWS = (*laws.LAWS, *figures.LAWS, *words.LAWS)
# Questions that once showed a fault, one a line.
KEPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kept.jsonl")


def faults_of(asked, program, place, more=play.nothing_more):
    """Plays the question and returns what was played with its faults, or why it cannot be."""
    try:
        played = play.play(asked, program, place, more)
    except (shell.Failed, play.Refused) as reason:
        return None, [], str(reason)
    holding = laws.TOGETHER if asked.hosts else LAWS
    # A trace with a gap proves nothing.
    found = [] if played.trace.lost else [fault for law in holding for fault in law(played)]
    said = [] if asked.hosts else forms.forms(played)
    return played, [*found, *said, *played.found], None


def shrink(asked, fault, program, place):
    """The smallest question found that still breaks the fault's law."""
    smallest, tries, goes_on = asked, 0, True
    end = time.monotonic() + SHRINK_S
    while goes_on and tries < SHRINKS_MAX:
        goes_on = False
        for simpler in smallest.simpler():
            tries += 1
            _, found, _ = faults_of(simpler, program, place)
            if any(other.law == fault.law for other in found):
                smallest, goes_on = simpler, True
                break
            if tries >= SHRINKS_MAX or time.monotonic() > end:
                return smallest
    return smallest


class Tally:
    """What a hunt has asked and found."""

    def __init__(self):
        self.kept, self.drawn = 0, []
        self.questions = self.rows = self.sound = self.believed = self.held = self.gaps = 0
        self.refused, self.faults = collections.Counter(), collections.Counter()

    def add(self, played, found):
        rows = [row for row, _ in played.rows()]
        self.questions += 1
        self.rows += len(rows)
        self.sound += sum(map(laws.is_sound, rows))
        self.believed += sum(map(laws.is_believed, rows))
        self.gaps += played.trace.lost
        self.faults.update(fault.law for fault in found)

    def asked(self):
        """Which questions: the kept ones have numbers of earlier hunts."""
        drawn = [f"questions {self.drawn[0]} to {self.drawn[-1]}"] if self.drawn else []
        return " and ".join(drawn + [f"{self.kept} that are kept"] * bool(self.kept)) or "no question"

    def page(self):
        """What the document says."""
        faults = ", ".join(f"{count} of {law}" for law, count in sorted(self.faults.items()))
        return "\n".join((
            f"{date.today()}, {self.asked()}:", "",
            "| questions | rows | sound | doubtful only of their speed | speeds held | faults |",
            "|---:|---:|---:|---:|---:|---|",
            f"| {self.questions} | {self.rows} | {self.sound} | {self.believed - self.sound} | "
            f"{self.held} | {faults or 'none'} |", "",
            f"{sum(self.refused.values())} further questions could not be asked, and {self.gaps} "
            "traces had gaps and decided nothing."))


def tell(asked, found, played):
    print(f"FAULT in question {asked.seed} on {asked.kind}:", flush=True)
    for fault in found:
        print(f"  {fault.law}: {fault.row}: {fault.text}")
    for line in played.commands:
        print("    " + line.replace("\n", "\n    "))
    print("  to keep: " + asked.to_json(), flush=True)


def kept():
    """The kept questions."""
    with open(KEPT, encoding="ascii") as lines:
        return [question.Question.of_json(line) for line in lines]


def options_of(words):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("place")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--for", dest="seconds", type=float, default=60)
    parser.add_argument("--questions", type=int, default=1 << 30)
    parser.add_argument("--speeds", type=float, default=0)
    parser.add_argument("--page")
    return parser.parse_args(words)


def questions(options, end, tally):
    """The kept questions, then those that are drawn, while there is time."""
    for asked in kept():
        tally.kept += 1
        yield asked
    for seed in range(options.seed, options.seed + options.questions):
        if time.monotonic() > end:
            return
        tally.drawn.append(seed)
        yield question.draw(random.Random(seed), seed)


def hunt(options, plain, tally):
    """Asks until the time is up."""
    end = time.monotonic() + options.seconds
    for asked in questions(options, end, tally):
        more = play.nothing_more
        share = random.Random(~asked.seed).random()
        if plain and share < options.speeds:
            more = speeds.held(random.Random(asked.seed), plain)
            tally.held += 1
        elif share > 1 - ALONE:
            more = alone.held(random.Random(asked.seed))
        played, found, reason = faults_of(asked, options.program, options.place, more)
        if played is None:
            tally.refused[reason] += 1
            if reason.startswith("no end"):
                print(f"question {asked.seed}: {reason}: {asked.to_json()}", flush=True)
            continue
        tally.add(played, found)
        if tally.questions % 50 == 0:
            print(f"{tally.questions} questions, {tally.believed} rows held", flush=True)
        if found:
            tell(asked, found, played)
            if tally.faults[found[0].law] > SHRUNK_MAX:
                continue
            smallest = shrink(asked, found[0], options.program, options.place)
            again, still, _ = faults_of(smallest, options.program, options.place)
            if still and smallest != asked:
                print("  the smallest that still has one:")
                tell(smallest, still, again)


def stop(number, _):
    """Ends the hunt; what is mounted is unmounted on the way out, which no second signal stops."""
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    sys.exit(128 + number)


def main():
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, stop)
    options = options_of(sys.argv[1:])
    tally = Tally()
    try:
        with tempfile.TemporaryDirectory(dir=options.place) as folder:
            plain = None
            if options.speeds:
                plain = speeds.build(folder)
                if not speeds.test_itself(plain, options.program, options.place):
                    plain = None
            hunt(options, plain, tally)
    finally:
        # A hunt that is stopped has asked, too.
        page = tally.page()
        print(page, flush=True)
        for reason, count in tally.refused.most_common():
            print(f"  not asked ({count}): {reason}")
        if options.page:
            with open(options.page, "w", encoding="utf-8") as file:
                file.write(page + "\n")
    return 1 if tally.faults else 0


if __name__ == "__main__":
    sys.exit(main())
