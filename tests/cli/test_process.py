"""The command as a process: pipes, terminals, signals, and an installation without the extra."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from prejoin.workload.files import read_file
from tests.cli.terminal import START as _START
from tests.cli.terminal import Terminal

TEAMS = Path(__file__).parents[2] / "examples" / "teams" / "access-patterns.md"
_BLOCKED = "import sys; sys.modules[{!r}] = None; sys.argv[0] = 'prejoin'; " + _START


def _run(*arguments: str, code: str = _START, **settings: object) -> subprocess.CompletedProcess[bytes]:
    call = [sys.executable, "-c", code, *arguments]
    return subprocess.run(call, capture_output=True, timeout=30, **settings)  # type: ignore[call-overload,no-any-return]


def test_missing_click_error_says_what_to_install() -> None:
    ran = _run("check", code=_BLOCKED.format("click"))
    assert (ran.returncode, ran.stdout) == (3, b"")
    assert ran.stderr.decode() == (
        "prejoin: the command needs `click`, which is not installed; in a clone of prejoin: pip install '.[cli]'\n"
    )
    assert b'"exit": 3' in _run("check", "--format", "json", code=_BLOCKED.format("click")).stdout


def test_missing_markdown_reader_error_says_what_to_install() -> None:
    ran = _run("check", "a.md", code=_BLOCKED.format("markdown_it"))
    assert ran.returncode == 3
    assert b"pip install '.[cli]'" in ran.stderr


def test_help_imports_no_heavy_modules() -> None:
    heavy = ["rich", "markdown_it", "yaml", "highspy", "prejoin.workload"]
    assert all(map(find_spec, heavy))
    code = (
        f"import sys; import atexit; atexit.register(lambda: print([m for m in {heavy} if m in sys.modules])); {_START}"
    )
    ran = _run("--help", code=code)
    assert ran.stdout.endswith(b"[]\n")


def test_closed_pipe_is_no_error(tmp_path: Path) -> None:
    shell = f"set -o pipefail; {sys.executable} -c '{_START}' schema | head -c 1"
    ran = subprocess.run(["bash", "-c", shell], capture_output=True, timeout=30, check=False)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, b"{", b"")


@pytest.mark.slow
@pytest.mark.parametrize("end", ["2>&1 | head -1", ">&-", ">&- 2>&-"])
def test_closed_pipe_does_not_prevent_writing_files(tmp_path: Path, end: str) -> None:
    shutil.copy(TEAMS, tmp_path / "access-patterns.md")
    shell = f"set -o pipefail; {sys.executable} -c '{_START}' build --yes {end}"
    ran = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "teams" / "repository.py").exists()
    assert '"source"' in (tmp_path / ".prejoin-build.json").read_text("utf-8")


@pytest.mark.everyday(1)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
@pytest.mark.parametrize(
    "arguments",
    [("--help",), ("check", "--help"), ("--version",), ("schema", "--format", "json"), ("explain", "PJ001")],
)
def test_full_disk_is_reported_on_standard_error(arguments: tuple[str, ...]) -> None:
    with open("/dev/full", "wb") as full:
        call = [sys.executable, "-c", _START, *arguments]
        # A buffered stream is written once more when the interpreter exits.
        buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
        ran = subprocess.run(call, stdout=full, stderr=subprocess.PIPE, timeout=60, check=False, env=buffered)
    assert ran.returncode == 1
    assert b"error PJ004: standard output cannot be written: No space left on device" in ran.stderr


@pytest.mark.slow
@pytest.mark.parametrize("arguments", [("query", "--help"), ("explain", "PJ120"), ("demo", str(TEAMS))])
@pytest.mark.parametrize("colour", ["", "1"])
def test_output_encoding_without_our_characters(arguments: tuple[str, ...], colour: str) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0", "FORCE_COLOR": colour}
    ran = _run(*arguments, env=environment)
    assert (ran.returncode, ran.stderr) == (0, b"")
    assert ran.stdout


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device here")
def test_full_disk_raises_readable_error() -> None:
    with open("/dev/full", "wb") as full:
        ran = subprocess.run(
            [sys.executable, "-c", _START, "schema"], stdout=full, stderr=subprocess.PIPE, timeout=30, check=False
        )
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"prejoin: error PJ004: standard output cannot be written: No space left on device\n")


def test_document_on_standard_output_is_utf8_in_any_locale() -> None:
    source = "# Caf\u00e9 \u2192\n".encode()
    environment = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    ran = _run("convert", "-", "--to", "md", "--anyway", input=source, env=environment)
    assert ran.stdout.startswith(source)


def test_the_shell_can_complete() -> None:
    environment = {
        **os.environ,
        "_PREJOIN_COMPLETE": "bash_complete",
        "COMP_WORDS": "prejoin explain PJ12",
        "COMP_CWORD": "2",
    }
    ran = _run(env=environment)
    assert b"PJ120" in ran.stdout


# --- On a terminal --------------------------------------------------------------------------------------------------


def test_an_interview_that_is_broken_off_keeps_every_answer_and_goes_on(tmp_path: Path) -> None:
    first = Terminal("interview", "a.md", folder=tmp_path, NO_COLOR="1")
    first.expect("What is the application called?")
    first.send("Shop\n")
    first.expect("What is it for?")
    first.send("?\n")
    first.expect("For the people who review the document")
    first.send("\n")
    first.expect("What does it store?")
    first.send("User, Ord")  # Not sent: this is the key that gets lost.
    first.send("\x03")
    first.expect("Saved in a.md. `prejoin interview a.md` continues from here.", again=" \x03")
    assert first.status() == 130
    assert read_file(tmp_path / "a.md").workload.title == "Shop"

    again = Terminal("interview", "a.md", folder=tmp_path, NO_COLOR="1")
    again.expect("Shop, from a.md:")
    again.expect("What does it store?")
    again.send("User of mine\n")
    again.expect("This answer cannot be used")
    again.send("User\n")
    again.expect("What else does it store?")
    again.send("quit\n")
    assert again.status() == 0
    assert [e.name for e in read_file(tmp_path / "a.md").workload.entities] == ["User"]


def test_a_terminal_in_a_background_job_can_be_interrupted(tmp_path: Path) -> None:
    """A shell starts background jobs with SIGINT ignored; these tests have to pass there, too."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        terminal = Terminal("interview", "a.md", folder=tmp_path, NO_COLOR="1")
    finally:
        signal.signal(signal.SIGINT, before)
    terminal.expect("What is the application called?")
    terminal.send("\x03")
    assert terminal.status(again=" \x03") == 130


@pytest.mark.slow
def test_a_document_that_is_edited_meanwhile_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "a.md"
    terminal = Terminal("interview", "a.md", folder=tmp_path, NO_COLOR="1")
    terminal.expect("What is the application called?")
    terminal.send("Shop\n")
    terminal.expect("What is it for?")
    path.write_text(path.read_text(encoding="utf-8").replace("# Shop", "# Market"), encoding="utf-8")
    terminal.send("Selling things.\n")
    terminal.expect("has changed meanwhile")
    terminal.expect("What does it store?")
    terminal.expect("\n> ")
    terminal.send("\x04")
    assert terminal.status() == 0
    workload = read_file(path).workload
    assert (workload.title, workload.overview) == ("Market", "Selling things.")


@pytest.mark.slow
def test_colour_is_for_terminals_that_want_it(tmp_path: Path) -> None:
    for environment, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        terminal = Terminal("explain", "PJ120", folder=tmp_path, **environment)
        terminal.expect("PJ120")
        terminal.expect("\x1b[" if coloured else "The inputs")
        terminal.status()
        assert ("\x1b[" in terminal.seen) is coloured
