"""One envelope for all commands, and the same exit statuses everywhere."""

from __future__ import annotations

from pathlib import Path

import jsonschema
import pytest

from prejoin import __version__
from prejoin.cli.commands.schema import envelope_schema
from tests.cli.conftest import Prejoin, Ran

_VALIDATOR = jsonschema.Draft202012Validator(envelope_schema())
_CALLS = [
    (("check", "wrong.md"), 1),
    (("check", "wrong.md", "--no-hints", "--strict"), 1),
    (("check", "nowhere.md"), 1),
    (("check", "--nonsense"), 2),
    (("chek", "wrong.md"), 2),
    ((), 2),
    (("explain",), 0),
    (("explain", "120"), 0),
    (("explain", "nonsense"), 2),
    (("convert", "wrong.md", "--to", "yaml"), 1),
    (("convert", "wrong.md", "--to", "yaml", "--anyway"), 0),
    (("convert", "wrong.md", "--to", "nonsense"), 2),
    (("convert", "wrong.md", "--to", "md", "--anyway", "-o", "wrong.md"), 4),
    (("convert", "nowhere.json", "--to", "workbench"), 2),
    (("schema",), 0),
    (("schema", "envelope"), 0),
    (("init", "new.md"), 0),
    (("init", "wrong.md"), 4),
    (("init", "nowhere/new.md"), 1),
    (("init", "new.txt"), 2),
    (("init", "new.md", "--entity", "nonsense"), 2),
    (("interview", "new.md"), 2),
    (("design", "wrong.md"), 1),
    (("design", "nowhere.md"), 1),
    (("design", "--decide", "nonsense", "wrong.md"), 1),
    (("design", "--nonsense"), 2),
    (("check", "table-design.md"), 1),
    (("demo", "wrong.md"), 1),
    (("interview", "new.md", "--answers", "nowhere.txt"), 1),
    (("skill", "list"), 0),
    (("skill", "install"), 0),
    (("skill", "nonsense"), 2),
]


def _valid(ran: Ran) -> None:
    _VALIDATOR.validate(ran.json)
    assert ran.json["prejoin"] == __version__
    assert ran.json["exit"] == ran.status
    assert ran.json["ok"] is (ran.status == 0)
    if ran.status:
        assert any(d["severity"] == "error" and d["message"] and d["fix"] for d in ran.json["diagnostics"])


@pytest.mark.parametrize(("call", "status"), _CALLS, ids=[" ".join(c) or "nothing" for c, _ in _CALLS])
def test_every_command_prints_the_envelope_and_nothing_else(
    prejoin: Prejoin, wrong: Path, call: tuple[str, ...], status: int
) -> None:
    ran = prejoin(*call, "--format", "json")
    assert ran.status == status
    assert ran.err == ""
    _valid(ran)
    named = call[0] if call and call[0] != "chek" else ""
    assert ran.json["command"] == named


@pytest.mark.parametrize(("call", "status"), _CALLS, ids=[" ".join(c) or "nothing" for c, _ in _CALLS])
def test_the_status_is_the_same_in_text(prejoin: Prejoin, wrong: Path, call: tuple[str, ...], status: int) -> None:
    ran = prejoin(*call)
    assert ran.status == status
    assert "Traceback" not in ran.err + ran.out
    if status:
        assert "error PJ" in ran.err + ran.out


def test_the_format_may_stand_before_the_command(prejoin: Prejoin, wrong: Path) -> None:
    _valid(prejoin("--format", "json", "check", "wrong.md"))
    _valid(prejoin("check", "wrong.md", "--format=json"))


def test_a_diagnostic_has_the_place_and_the_text(prejoin: Prejoin, wrong: Path) -> None:
    found = [d for d in prejoin("check", "wrong.md", "--format", "json").json["diagnostics"] if d["code"] == "PJ110"]
    assert found == [
        {
            "code": "PJ110",
            "severity": "error",
            "message": "`strng` is not a type",
            "fix": "write `string`",
            "file": "wrong.md",
            "line": 9,
            "column": 14,
            "text": "strng",
            "replacement": "string",
        }
    ]


def test_a_misspelt_command_is_suggested(prejoin: Prejoin) -> None:
    ran = prejoin("chek")
    assert "there is no command `chek`" in ran.err
    assert "did you mean `check`?" in ran.err


def test_a_misspelt_option_is_suggested(prejoin: Prejoin) -> None:
    assert "`--strict`" in prejoin("check", "--strickt").err


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help(prejoin: Prejoin, flag: str) -> None:
    whole = prejoin(flag)
    assert whole.status == 0
    for name in ("init", "interview", "check", "convert", "explain", "schema"):
        assert name in whole.out
        assert prejoin(name, flag).status == 0


def test_the_version(prejoin: Prejoin) -> None:
    assert prejoin("--version").out == f"prejoin {__version__}\n"


def test_internal_error_has_a_message_and_status_70(
    prejoin: Prejoin, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("prejoin.cli.commands.schema.envelope_schema", broken)
    ran = prejoin("schema", "envelope")
    assert ran.status == 70
    assert "`PREJOIN_DEBUG=1 prejoin schema envelope`" in ran.err
    assert "Traceback" not in ran.err
    _valid(prejoin("schema", "envelope", "--format", "json"))
    monkeypatch.setenv("PREJOIN_DEBUG", "1")
    shown = prejoin("schema", "envelope")
    assert shown.status == 70
    assert "ZeroDivisionError: oops" in shown.err


def test_an_interruption_is_status_130(prejoin: Prejoin, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("prejoin.cli.commands.schema.envelope_schema", interrupted)
    assert prejoin("schema", "envelope").status == 130
    _valid(prejoin("schema", "envelope", "--format", "json"))


def test_missing_package_is_status_3(prejoin: Prejoin, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object) -> None:
        raise ModuleNotFoundError("No module named 'yaml'", name="yaml")

    monkeypatch.setattr("prejoin.cli.commands.schema.envelope_schema", missing)
    ran = prejoin("schema", "envelope")
    assert ran.status == 3
    assert "in a clone of prejoin: `pip install '.[cli]'`" in ran.err
