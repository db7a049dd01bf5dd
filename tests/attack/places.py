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
    """The URL of `prejoin serve`, in a process of its own, on a new file. It must end in order."""
    with file_place() as path:
        with serving(path, *options) as (url, process):
            yield url
        log = _log(path).read_text()
        if process.returncode != 0 or "Traceback" in log:
            raise AssertionError(f"prejoin serve ended with {process.returncode}: {log[-1000:]}")


@contextmanager
def serving(path: str, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`prejoin serve` on a file: its URL and its process, which may be killed."""
    command = [sys.executable, "-c", _SERVE, "serve", "--port", "0", "--db", path, *options]
    # Its output goes to a file: nobody reads a pipe while the attack runs, and a full one would stop the server.
    with _log(path).open("w") as out, subprocess.Popen(command, stderr=out, cwd=ROOT) as process:
        try:
            yield _url(_log(path), process), process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def _log(path: str) -> Path:
    return Path(path).with_suffix(".log")


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
