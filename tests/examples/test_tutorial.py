"""Follows the tutorial: saves its files, runs its commands in an empty folder, and compares their output.

The last words before a block tell its purpose:

| Words | The block |
| --- | --- |
| Save as `NAME`: | is that file |
| Add to `NAME`: | is added at the end of that file |
| In `NAME`: | is a diff of that file |
| From `NAME`: | is a part of that file |
| leave it running: | is a command that runs until the next such one or the end of the page |

Other `console` blocks contain commands, each after a `$`, and their output. `…` stands for omitted text: alone on a line for
lines, otherwise for a part of one. A picture must equal the one that was built by then. Two blocks are not run: the one that
installs prejoin, because the environment of the tests is used, and the one in `sh`, which is for AWS.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.signals import default_interrupt

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "tutorial.md"
TEXT = PAGE.read_text("utf-8")
PORT = "8080"
PATIENCE = 60  # timeout of a command in seconds

_STEP = re.compile(
    r"^```(?P<language>\w+)\n(?P<text>.*?)^```$|^!\[[^]]*\]\((?P<picture>[^)]+)\)$", re.MULTILINE | re.DOTALL
)
_DEED = re.compile(r"(?P<deed>Save as|Add to|In|in|From) `(?P<name>[^`]+)`:$")
_STATUS = re.compile(r"^\[exit status (\d+)\]\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Step:
    """A block or a picture of the page, its purpose, and its file."""

    deed: str
    file: str
    text: str


@dataclass(frozen=True, slots=True)
class Command:
    """A command of a console block, and its shown output."""

    line: str
    shown: str
    status: int


def steps(page: str) -> Iterator[Step]:
    for found in _STEP.finditer(page):
        before, text = page[: found.start()].rstrip(), found["text"]
        if found["picture"]:
            yield Step("picture", found["picture"], "")
        elif match := _DEED.search(before):
            yield Step(match["deed"].capitalize(), match["name"], text)
        elif found["language"] != "console" or "pip install" in text:
            yield Step("read", "", text)
        else:
            yield Step("start" if before.endswith("leave it running:") else "run", "", text)


def commands(text: str) -> list[Command]:
    assert text.startswith("$ "), text
    found = []
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, shown = part.partition("\n")
        status = _STATUS.search(shown)
        found.append(Command(line, _STATUS.sub("", shown), int(status[1]) if status else 0))
    return found


def shows(shown: str, output: str) -> bool:
    r"""Whether a text shows an output, except for parts that `…` omits.

    >>> shows("a\n…\nd 0.…\n", "a\nb\nc\nd 0.17\n"), shows("a\n…\nc\n", "a\nc\n"), shows("", "")
    (True, True, True)
    >>> shows("a\n…\nb\n…\nc\n…\n", "a\nx\nb\ny\nb\nc\n"), shows("…\nb\n…\na\n…\n", "a\nb\n")
    (True, False)
    >>> shows("a\n", "a\nb\n"), shows("a\n…\nd\n", "a\nb\nc\n"), shows("a…\n", "a\nb\n"), shows("", "a\n"), shows("a\n", "")
    (False, False, False, False, False)
    """
    lines = output.splitlines()

    def fits(run: list[re.Pattern[str]], at: int) -> bool:
        return len(run) <= len(lines) - at and all(p.fullmatch(line) for p, line in zip(run, lines[at:], strict=False))

    runs: list[list[re.Pattern[str]]] = [[]]
    for line in shown.splitlines():
        if line == "…":
            runs.append([])
        else:
            runs[-1].append(re.compile(".*".join(map(re.escape, line.split("…")))))
    if len(runs) == 1:
        return len(lines) == len(runs[0]) and fits(runs[0], 0)
    first, *between, last = runs
    at, end = len(first), len(lines) - len(last)
    for run in between:  # the first match leaves the most lines for the next runs
        at = next((n + len(run) for n in range(at, end + 1) if fits(run, n)), end + 1)
    return at <= end and fits(first, 0) and fits(last, end)


def changed(text: str, difference: str) -> str:
    r"""A text after a diff, whose old lines must occur exactly once.

    >>> changed("a\nb\nc\nd\n", " a\n-b\n+B\n+BB\n@@\n d\n+e\n")
    'a\nB\nBB\nc\nd\ne\n'
    >>> changed("a\nb\na\nb\n", "-b\n")
    Traceback (most recent call last):
    ValueError: 2 times in the file: b
    """
    for hunk in difference.split("@@\n"):
        lines = hunk.splitlines(keepends=True)
        old = "".join(line[1:] for line in lines if line[0] in " -")
        new = "".join(line[1:] for line in lines if line[0] in " +")
        times = f"\n{text}".count(f"\n{old}")
        if times != 1:
            raise ValueError(f"{times} times in the file: {old.rstrip()}")
        text = f"\n{text}".replace(f"\n{old}", f"\n{new}").removeprefix("\n")
    return text


@contextmanager
def running(command: Command, folder: Path, environment: dict[str, str]) -> Iterator[None]:
    """A running command: waits for the shown output, and ends it with ^C."""
    log = folder.parent / "running.log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["bash", "-c", f"exec {command.line}"],
            cwd=folder,
            env=environment,
            stdout=out,
            stderr=subprocess.STDOUT,
            preexec_fn=default_interrupt,
        )
    try:
        until = time.monotonic() + PATIENCE
        while not shows(command.shown, log.read_text("utf-8")):
            waiting = process.poll() is None and time.monotonic() < until
            assert waiting, f"$ {command.line}\n{log.read_text('utf-8')}\nand the page shows\n{command.shown}"
            time.sleep(0.02)
        yield
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0, log.read_text("utf-8")
    finally:
        process.kill()
        process.wait()


class Reader:
    """Follows the page in an empty folder."""

    def __init__(self, folder: Path, port: str, started: ExitStack) -> None:
        self.folder = folder
        self.port = port
        self.started = started
        self.surprises: list[str] = []
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "PREJOIN", "AWS"))}
        self.environment = kept | {
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "PORT": port,
            "PYTHONUNBUFFERED": "1",  # so that both outputs are in order, as on a terminal
        }

    def follow(self, step: Step) -> None:
        file = self.folder / step.file
        match step.deed:
            case "Save as":
                file.parent.mkdir(exist_ok=True)
                file.write_text(step.text, "utf-8")
            case "Add to":
                space = "\n\n\n" if file.suffix == ".py" else "\n\n"
                file.write_text(file.read_text("utf-8").rstrip() + space + step.text, "utf-8")
            case "In":
                file.write_text(changed(file.read_text("utf-8"), step.text), "utf-8")
            case "From":
                if not shows(f"…\n{step.text}…\n", file.read_text("utf-8")):
                    self.surprises.append(f"{step.file} does not have\n{step.text}")
            case "picture":
                picture = PAGE.parent / step.file
                made = self.folder / "pictures" / picture.name
                if made.read_bytes() != picture.read_bytes():
                    self.surprises.append(f"{picture} is not what was built: pictures/{picture.name}")
            case "start":
                self.started.close()
                [command] = commands(step.text.replace(PORT, self.port))
                self.started.enter_context(running(command, self.folder, self.environment))
            case "run":
                for command in commands(step.text.replace(PORT, self.port)):
                    self.run(command)

    def run(self, command: Command) -> None:
        done = subprocess.run(
            ["bash", "-c", command.line],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=PATIENCE,
            check=False,
        )
        happened = f"$ {command.line}\n{done.stdout}[exit status {done.returncode}]"
        assert done.returncode == command.status, "\n\n".join([*self.surprises, happened])
        if not shows(command.shown, done.stdout):
            self.surprises.append(f"{happened}\nand the page shows\n{command.shown}")


def free_port() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return str(listening.getsockname()[1])


@pytest.mark.slow
@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="the page uses bash and curl")
def test_tutorial_shows_real_output(tmp_path: Path) -> None:
    folder = tmp_path / "makerspace"
    folder.mkdir()
    with ExitStack() as started:
        reader = Reader(folder, free_port(), started)
        for step in steps(TEXT):
            reader.follow(step)
    assert not reader.surprises, "\n\n".join(reader.surprises)


def test_every_block_of_the_page_is_followed() -> None:
    done = Counter(step.deed for step in steps(TEXT))
    assert done.total() == TEXT.count("\n```") / 2 + TEXT.count("\n![")
    assert set(done) == {"Save as", "Add to", "In", "From", "picture", "start", "run", "read"}
    assert done["read"] == 2


def test_packages_of_the_tutorial_are_installed() -> None:
    [folder, extra] = re.findall(r"^\$ pip install '\.\./(\w+)\[(\w+)\]' pytest$", TEXT, re.MULTILINE)[0]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["name"] == folder
    assert extra in project["optional-dependencies"]


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)#:]+)\)", TEXT):
        assert (PAGE.parent / link).exists(), link
