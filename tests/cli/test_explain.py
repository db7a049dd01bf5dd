"""`prejoin explain` and `prejoin schema`: the meaning of messages, and JSON Schemas."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from prejoin.cli.commands.explain import catalogue
from prejoin.workload.starter import starter
from tests.cli.conftest import Prejoin

TESTS = Path(__file__).parents[1]


@pytest.mark.parametrize("code", ["PJ120", "pj120", "120", "PJ-120", " Pj 120 "])
def test_code_is_found_in_any_spelling(prejoin: Prejoin, code: str) -> None:
    ran = prejoin("explain", code)
    assert ran.status == 0
    assert ran.out.startswith("PJ120 · error · The inputs are not exact\n")


def test_without_a_code_all_are_listed(prejoin: Prejoin) -> None:
    lines = prejoin("explain").out.strip().split("\n")
    assert [line.split()[0] for line in lines] == list(catalogue())
    assert len(prejoin("explain", "--format", "json").json["result"]["codes"]) == len(lines)


@pytest.mark.parametrize(("code", "meant"), [("PJ12", "`PJ120`"), ("sort", "`PJ122`"), ("XY042", "lists them all")])
def test_a_near_miss_gets_suggestions(prejoin: Prejoin, code: str, meant: str) -> None:
    ran = prejoin("explain", code)
    assert (ran.status, ran.out) == (2, "")
    assert meant in ran.err


def test_codes_in_tests_exist() -> None:
    """A test that asserts the absence of a code would pass without it."""
    named = {
        code
        for path in TESTS.rglob("test_*.py")
        if path.name != "test_add_a_construct.py"  # it adds a code to a copy
        for code in re.findall(r"\bPJ\d{3}\b", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 100
    assert named - catalogue().keys() == set()


def test_every_code_of_the_command_tells_its_exit_status() -> None:
    own = [c for c in catalogue().values() if c.id.startswith("PJ00")]
    assert own
    assert all("xit status" in " ".join(c.explanation.split()) for c in own)


def test_workload_schema_accepts_converted_documents(prejoin: Prejoin) -> None:
    schema = json.loads(prejoin("schema").out)
    document = prejoin("convert", "-", "--to", "yaml", stdin=starter().encode()).out
    assert jsonschema.Draft202012Validator(schema).is_valid(yaml.safe_load(document))


def test_the_schema_of_the_envelope_is_the_documented_one(prejoin: Prejoin) -> None:
    page = Path(__file__).parents[2].joinpath("docs/reference/command.md").read_text(encoding="utf-8")
    documented = page.partition("```json schema\n")[2].partition("```")[0]
    assert json.loads(documented) == json.loads(prejoin("schema", "envelope").out)
