"""The harness: runs attacks one after the other, and prints a table of tries and findings.

Each attack runs in a process of its own, so that one that hangs or dies is a finding like any other and the rest go
on. Progress goes to standard error, the table to standard output. The exit status is 1 if there were findings.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from . import report
from .attacks import ATTACKS, Attack, attack
from .places import ROOT
from .report import Row, Run
from .result import Result

PATIENCE = 120.0
"""Seconds that an attack may take longer than it was given, plus as long again, before it counts as hanging."""


def main(arguments: Sequence[str] | None = None) -> None:
    asked = _parse(arguments)
    if asked.child is not None:
        _run_here(Attack(*asked.child), asked.seconds, asked.seed, Path(asked.result))
        return
    # Whoever ends the harness, as CI does after its limit, ends the attack that runs with it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    attacks = [attack(name) for name in asked.only] if asked.only else list(ATTACKS)
    run = run_all(attacks, asked.seconds, asked.seed)
    sys.stdout.write(report.as_text(run))
    if asked.write_report:
        report.write(run)
        _say(f"written to {report.PAGE.relative_to(ROOT)}")
    sys.exit(1 if run.findings else 0)


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/soak --attack", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600, help="for all attacks together (600)")
    parser.add_argument(
        "--only",
        action="append",
        choices=[one.name for one in ATTACKS],
        metavar="NAME",
        help=f"one attack; may be repeated. There are: {', '.join(one.name for one in ATTACKS)}",
    )
    parser.add_argument("--seed", type=int, default=int(time.time()), help="to repeat a run; otherwise the time")
    parser.add_argument("--write-report", action="store_true", help="put the table into docs/reliability.md")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--result", help=argparse.SUPPRESS)
    asked = parser.parse_args(arguments)
    if asked.write_report and asked.only:
        parser.error("--write-report needs all attacks: leave out --only")
    return asked


def run_all(attacks: Sequence[Attack], seconds: float, seed: int) -> Run:
    """Runs attacks, each for its share of the time."""
    rows = []
    for number, one in enumerate(attacks, 1):
        share = seconds / len(attacks)
        _say(f"[{number}/{len(attacks)}] {one.name}: {one.description} ({share:.0f} s)")
        begun = time.monotonic()
        result = run_apart(one, share, seed)
        took = time.monotonic() - begun
        rows.append(Row(one.name, one.description, one.counts, result.tries, tuple(result.findings), took))
        _say(f"    {result.tries:,} {one.counts} in {took:.0f} s, findings: {len(result.findings)}")
        _say_all(result.findings)
    return Run(tuple(rows), seconds, seed)


def run_apart(one: Attack, seconds: float, seed: int, patience: float = PATIENCE) -> Result:
    """Runs one attack in a process of its own; that it dies or hangs is a finding."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "result.json"
        command = [sys.executable, "-m", "tests.attack", "--child", one.name, one.function, "--result", str(file)]
        command += ["--seconds", str(seconds), "--seed", str(seed)]
        # A session of its own, so that all its processes can be ended together.
        process = subprocess.Popen(command, cwd=ROOT, stdout=sys.stderr, start_new_session=True)
        ended = ""
        try:
            process.wait(2 * seconds + patience)
        except subprocess.TimeoutExpired:
            ended = f"{one.name}, seed {seed}: did not end within {2 * seconds + patience:.0f} s"
        finally:
            _end(process)
        if not ended and not file.exists():
            ended = f"{one.name}, seed {seed}: its process ended with {process.returncode}"
        return Result(0, [ended]) if ended else Result(**json.loads(file.read_text()))


def _end(process: subprocess.Popen[bytes]) -> None:
    """Ends a process and all that it started and left behind."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _run_here(one: Attack, seconds: float, seed: int, file: Path) -> None:
    run = one.load()
    try:
        result = run(seconds, seed)
    except BaseException:
        # Any exception that an attack does not expect is a finding: it came out of prejoin, or out of the attack.
        result = Result(0, [f"{one.name}, seed {seed}: {_last(traceback.format_exc())}"])
        traceback.print_exc()
    file.write_text(json.dumps(asdict(result)))


def _last(trace: str, lines: int = 6) -> str:
    return " | ".join(line.strip() for line in trace.strip().splitlines()[-lines:])


def _say(line: str) -> None:
    sys.stderr.write(line + "\n")
    sys.stderr.flush()


def _say_all(lines: Iterable[str]) -> None:
    for line in lines:
        _say(f"    FOUND {line}")
