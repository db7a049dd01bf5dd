"""The generated tests of writes with conditions: each operator, form of value, type and verb."""

from __future__ import annotations

from itertools import product

import pytest
from tests.render.python.driving import proven, unproven
from tests.solutions import solve

from prejoin.diagnostics import has_errors
from prejoin.pipeline.build.generated_tests import TestRun, run_tests
from prejoin.render.python.package import Options, render_python, repository_tests
from prejoin.render.python.writes import item_conditions
from prejoin.table.condition import render
from prejoin.workload.files import read_text

DOCUMENT = """# Things

## Entities

### Thing

- **Attributes**:
  - `thingId` (ulid, generated)
  - `note` (string, mutable)
  - `value` (TYPE, mutable)
- **Cardinality**: ~100 total

### Other

- **Attributes**:
  - `otherId` (ulid, generated)
  - `thingId` (ulid, immutable, → Thing)
  - `count` (integer, mutable)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
| --- | --- | --- | --- | --- |
| AP-001 | Thing | One | thingId | Single |
| AP-002 | Other | One | otherId | Single |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions |
| --- | --- | --- | --- | --- | --- | --- |
"""
ROWS = {
    "update": "Thing | Does | thingId, noteINPUTS | update Thing (note) | No",
    "delete": "Thing | Does | thingIdINPUTS | delete Thing | No",
    "create": "Thing | Does | ThingINPUTS | create Thing | No",
    "put": "Thing | Does | ThingINPUTS | put Thing | No",
    "upsert": "Thing | Does | thingId, note, valueINPUTS | upsert Thing (note, value) | No",
    "check": "Other, Thing | Does | OtherINPUTS | create Other | Yes",
    "transaction": "Other, Thing | Does | otherId, thingId, noteINPUTS "
    "| update Other (count += 1); update Thing (note) | Yes",
}
CONSTANTS = {
    "integer": ("2", "5"),
    "integer, min 0, max 9": ("2", "5"),
    "number": ("2", "5"),
    "decimal": ("1.5", "5.5"),
    "string": ("ab", "abc"),
    "datetime": ("2026-01-19T10:00:00Z", "2026-01-20T10:00:00Z"),
    "date": ("2026-01-19", "2026-01-20"),
    "boolean": ("true", "false"),
    "A | B | C": ("A", "B"),
    "ulid": ("01ARZ3NDEKTSV4RRFFQ69G5FAA", "01ARZ3NDEKTSV4RRFFQ69G5FAV"),
    "uuid": ("00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"),
    "list of string": ("ab", "abc"),
    "set of string": ("ab", "abc"),
    "integer, ttl": ("4102444700", "4102444800"),
    "datetime, ttl": ("2100-01-19T10:00:00Z", "2100-01-20T10:00:00Z"),
}
"""A lesser and a greater constant of each type."""
TIMES = {"integer", "number", "decimal", "string", "datetime", "date", "integer, ttl", "datetime, ttl"}
MANY = {"list of string", "set of string"}
NOW = (("now - 7 days", "now"), ("now", "now"), ("now", "now + 1 day"))


def operators(type_: str) -> list[str]:
    """The operators that suit a type."""
    if type_ in MANY:
        return ["contains"]
    same = ["=", "<>", "in"]
    if type_ == "boolean":
        return same
    if type_ == "A | B | C":
        return [*same, "contains"]
    return [
        *same,
        "<",
        "<=",
        ">",
        ">=",
        "between",
        *(["begins_with", "contains"] if type_ in {"string", "ulid"} else []),
    ]


def conditions(type_: str) -> list[tuple[str, str]]:
    """Every condition on an attribute of a type, with the inputs that it needs."""
    found = [("value exists", "")]
    forms = [CONSTANTS[type_], ("given", "second"), *(NOW if type_ in TIMES else ())]
    for least, most in forms:
        for operator in operators(type_):
            texts = {"in": f"in ({least}, {most})", "between": f"between {least} and {most}"}
            condition = f"value {texts.get(operator, f'{operator} {most}')}"
            # An item expires at a time in the past, and is not found any more.
            expired = "ttl" in type_ and operator in {"<", "<=", "between"} and "now" in least and most == "now"
            inputs = [name for name in ("given", "second") if name in condition.split("value ")[1]]
            if not expired:
                found.append((condition, "".join(f", {name}" for name in inputs)))
    return found


def ran(type_: str, verb: str) -> TestRun:
    """The generated tests of a document with a write for each condition."""
    rows = []
    for number, (condition, inputs) in enumerate(conditions(type_)):
        about = f"Thing.{condition}" if verb in {"check", "transaction"} else condition
        rows.append(f"| AP-{number + 100} | {ROWS[verb].replace('INPUTS', inputs)} | {about} |\n")
    reading = read_text(DOCUMENT.replace("TYPE", type_) + "".join(rows), "md")
    assert not has_errors(reading.diagnostics), reading.diagnostics
    design = solve(reading.workload).design
    assert [operation.problem for operation in design.operations if not operation.served] == []
    tests = repository_tests(reading.workload, design, Options("things"))
    assert [one.reason for one in tests.values() if one.reason] == []
    return run_tests(render_python(reading.workload, design, Options("things")), "things")


CASES = sorted(product(CONSTANTS, ROWS), key=lambda case: case != ("datetime", "update"))


@pytest.mark.everyday(1)
@pytest.mark.parametrize(("type_", "verb"), CASES)
def test_the_generated_test_of_a_condition_passes(type_: str, verb: str) -> None:
    result = ran(type_, verb)
    assert result.failed == {}
    succeeding = [name for name in result.passed if "_refuses_" not in name]
    assert len(succeeding) == len(conditions(type_)) + 2
    # Nearly each has a refusal: not `value in (true, false)`, which is never false.
    assert len(result.passed) >= 2 * len(conditions(type_))


@pytest.mark.parametrize(
    ("type_", "condition", "message"),
    [
        ("integer", "value contains 5", "`value` is integer, which contains nothing"),
        ("datetime", "value contains given", "`value` is datetime, which contains nothing"),
        ("boolean", "value < true", "`value` is boolean, which has no range"),
        ("list of string", "value > abc", "`value` is list of string, which cannot be compared"),
        ("set of string", "value = abc", "`value` is set of string, which cannot be compared"),
        ("decimal", "value begins_with 5", "`value` is decimal; `begins_with` is for text"),
        ("datetime, ttl", "value begins_with 2100", "`value` is datetime; `begins_with` is for text"),
    ],
)
def test_a_condition_that_does_not_suit_the_type_is_an_error(type_: str, condition: str, message: str) -> None:
    row = f"| AP-020 | {ROWS['update'].replace('INPUTS', ', given')} | {condition} |\n"
    reading = read_text(DOCUMENT.replace("TYPE", type_) + row, "md")
    assert message in [diagnostic.message for diagnostic in reading.diagnostics if diagnostic.code == "PJ208"]


@pytest.mark.parametrize("verb", [verb for verb in ROWS if verb != "create"])
def test_the_proof_tries_ends_of_a_range_that_are_the_wrong_way_round(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DynamoDB refuses the request for `between 5 and 1`. A write has to refuse it as a condition that is false."""
    about = "Thing.value" if verb in {"check", "transaction"} else "value"
    for ends, inputs in (
        ("given and second", ", given, second"),
        ("2 and given", ", given"),
        ("given and 5", ", given"),
    ):
        row = f"| AP-020 | {ROWS[verb].replace('INPUTS', inputs)} | {about} between {ends} |\n"
        reading = read_text(DOCUMENT.replace("TYPE", "integer") + row, "md")
        assert not has_errors(reading.diagnostics), reading.diagnostics
        design = solve(reading.workload).design
        proof = proven(reading.workload, design)
        assert unproven(proof) == []
        assert "wrong way round" in str(proof)
        with monkeypatch.context() as patch:
            patch.setattr(item_conditions, "is_range_of_inputs", lambda check: False)
            patch.setattr(render, "_is_above", lambda low, high: False)  # the client does not send such ends, either
            assert "BETWEEN" in str(unproven(proven(reading.workload, design))), ends


@pytest.mark.parametrize(
    ("type_", "condition", "fix"),
    [
        ("integer", "value between 5 and 2", "value between 2 and 5"),
        ("integer", "value between 10 and 9", "value between 9 and 10"),
        ("integer", "value between 1e3 and 9", "value between 9 and 1e3"),
        ("string", "value between b and a", "value between a and b"),
        ("date", "value between 2026-01-20 and 2026-01-19", 'value between "2026-01-19" and "2026-01-20"'),
        ("datetime", "value between now and now - 7 days", "value between now - 7 days and now"),
    ],
)
def test_a_range_of_constants_that_no_value_is_within_is_an_error(type_: str, condition: str, fix: str) -> None:
    write = f"| AP-020 | {ROWS['update'].replace('INPUTS', '')} | {condition} |\n"
    read = f"| AP-003 | Thing | Some | filter {condition} | Collection |\n\n### Writes"
    document = DOCUMENT.replace("TYPE", type_)
    for text in (document + write, document.replace("\n### Writes", read)):
        (found,) = [d for d in read_text(text, "md").diagnostics if d.code == "PJ212"]
        assert found.fix.replace('"1e3"', "1e3") == f"write `{fix}`"
        turned = text.replace(condition, fix)
        assert not has_errors(read_text(turned, "md").diagnostics)


MEMBERS = {
    ">= B": "B, C",
    "> B": "C",
    "<= B": "A, B",
    "< B": "A",
    "between B and C": "B, C",
    "begins_with B": "B",
    ">= given": "A, B",
    "between given and second": "A, B",
    "begins_with given": "A, B",
}
"""The members that the message names for a range of `A | B | C`; of one that an input has, any of them."""


@pytest.mark.parametrize("verb", ROWS)
def test_a_range_of_an_enum_is_an_error(verb: str) -> None:
    """DynamoDB would compare letters: of `LOW | MID | HIGH`, both others are below `MID`."""
    for condition, members in MEMBERS.items():
        about = "Thing.value" if verb in {"check", "transaction"} else "value"
        row = f"| AP-020 | {ROWS[verb].replace('INPUTS', ', given, second')} | {about} {condition} |\n"
        reading = read_text(DOCUMENT.replace("TYPE", "A | B | C") + row, "md")
        (found,) = [d for d in reading.diagnostics if d.code == "PJ208"]
        assert f"`value in ({members})`" in found.fix, condition


@pytest.mark.parametrize("way", ["", "filter "])
def test_a_range_of_an_enum_is_an_error_of_a_read(way: str) -> None:
    for condition, members in [*MEMBERS.items(), (">=", "A, B"), ("between", "A, B"), ("begins_with", "A, B")]:
        said = condition.replace("given", ":given").replace("second", ":second")
        read = f"| AP-003 | Thing | Some | {way}value {said} | Collection |\n\n### Writes"
        reading = read_text(DOCUMENT.replace("TYPE", "A | B | C").replace("\n### Writes", read), "md")
        (found,) = [d for d in reading.diagnostics if d.code == "PJ208"]
        assert f"`value in ({members})`" in found.fix, condition


def test_a_write_whose_conditions_nothing_is_known_to_fulfil_has_no_test() -> None:
    """The test file says so, and the other tests are there."""
    row = "| AP-020 | Thing | Does | thingId, note | update Thing (note) | No | value > 5; value < 3 |\n"
    workload = read_text(DOCUMENT.replace("TYPE", "integer") + row, "md").workload
    design = solve(workload).design
    tests = repository_tests(workload, design, Options("things"))
    assert [pattern for pattern, one in tests.items() if one.reason] == ["AP-020"]
    files = render_python(workload, design, Options("things"))
    text = next(text for path, text in files.items() if path.name == "test_repository.py")
    assert "# AP-020, `does`, has no test: `value > 5` and `value < 3` contradict each other." in text
    assert len(run_tests(files, "things").passed) == 2
