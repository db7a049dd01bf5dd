"""Places to attack: the engine in memory, on a file, and behind `prejoin serve`."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from prejoin.engine import Embedded
from prejoin.transport import Endpoint

ROOT = Path(__file__).parents[2]
_SERVE = "from prejoin.cli import main; main()"


def reach(place: str) -> Embedded | Endpoint:
    """A transport to a place: "memory", the path of a file, or the URL of a server."""
    if place == "memory":
        return Embedded()
    return Endpoint(place) if place.startswith("http") else Embedded(place)


@contextmanager
def file_place() -> Iterator[str]:
    """The path of a new file."""
    with TemporaryDirectory(prefix="prejoin-attack-") as folder:
        yield str(Path(folder) / "attack.db")


@contextmanager
def served_place(*options: str) -> Iterator[str]:
    """The URL of `prejoin serve`, in a process of its own, on a new file."""
    with file_place() as path:
        command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--db", path, *options]
        # Its output goes to a file: nobody reads a pipe while the attack runs, and a full one would stop the server.
        log = Path(path).with_suffix(".log")
        with log.open("w") as out, subprocess.Popen(command, stderr=out, cwd=ROOT) as process:
            try:
                yield _url(log, process)
            finally:
                process.terminate()
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
        text = log.read_text()
        if process.returncode != 0 or "Traceback" in text:
            raise AssertionError(f"prejoin serve ended with {process.returncode}: {text[-1000:]}")


def _url(log: Path, process: subprocess.Popen[bytes]) -> str:
    for _ in range(600):
        found = re.search(r"http://\S+?(?=,)", log.read_text())
        if found:
            return found.group()
        if process.poll() is not None:
            break
        try:
            process.wait(0.05)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError(f"prejoin serve did not start: {log.read_text()}")
