"""Each `match` over an enum or a union of the model is exhaustive, so mypy names the places that a new member needs.

One test adds a member to all of them, in a copy of the source, and looks for the errors in each package that has to know
it.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import get_args

import pytest

import prejoin.design.model
import prejoin.types
import prejoin.workload.model
import prejoin.workload.program.resolved_read
from prejoin.workload.model import Condition, Pin

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "prejoin"
PACKAGES = ("constructs", "workload", "design", "cases", "render", "proof", "pipeline", "migrate")
"""The packages that compile a document. The others do not know the model, or only the kinds of types."""

MODULES = (prejoin.types, prejoin.workload.model, prejoin.workload.program.resolved_read, prejoin.design.model)
ENUMS = {
    name
    for module in MODULES
    for name, value in vars(module).items()
    if isinstance(value, type) and issubclass(value, Enum) and value.__module__ == module.__name__
}


def classes_of_unions() -> Iterator[str]:
    """The classes of the unions that the packages define, `Shape = Box | Line`, without those of Python."""
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            for statement in ast.parse(path.read_text("utf-8")).body:
                value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign) else None
                if isinstance(value, ast.BinOp) and isinstance(value.op, ast.BitOr):
                    names = [node.id for node in ast.walk(value) if isinstance(node, ast.Name)]
                    yield from (name for name in names if name[0].isupper() and name != "Decimal")


UNION_CLASSES = {
    *(member.__name__ for union in (Condition, Pin) for member in get_args(union)),
    *classes_of_unions(),
}

MUST_KNOW = {
    "Call": "design",
    "ChangeOp": "workload design render cases",
    "Combine": "workload migrate",
    "Consistency": "workload design",
    "Did": "design render",
    "Kind": "workload design render cases migrate",
    "Level": "design",
    "NamedPart": "workload design",
    "Op": "workload design render cases migrate",
    "Per": "workload",
    "ProjectionKind": "design render",
    "RelationshipKind": "workload design render",
    "Result": "workload render cases migrate",
    "ReturnKind": "render",
    "Role": "design",
    "Verb": "workload design render cases",
    "Leaf": "constructs workload design render cases",
    "Test": "workload design render cases",
    "Condition": "workload",
    "Pin": "workload design",
}
"""The packages in which one more member must fail: those that decide by it. `Condition` itself adds only uniqueness."""

NOT_MATCHED = {
    "Billing": "two modes, printed as they are",
    "Direction": "there is no third",
    "Experience": "only said in advice",
    "IndexKeyForm": "two forms, compared in one place",
    "Need": "listed, not told apart",
    "Stability": "only said in advice",
    "Stage": "only said in advice",
    "Status": "read and written as it is",
}
"""Enums that no `match` is about, with the reason."""


def matches() -> Iterator[tuple[str, ast.Match]]:
    """The `match` statements of the packages, each with its file."""
    for package in PACKAGES:
        for path in sorted((SOURCE / package).rglob("*.py")):
            text = path.read_text("utf-8")
            if not re.search(r"^\s+match .+:$", text, re.MULTILINE):
                continue
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Match):
                    yield path.relative_to(SOURCE).as_posix(), node


def is_over_model(statement: ast.Match) -> bool:
    """Whether a `match` has a case for a member of an enum, or a class of a union, of the model."""
    for case in statement.cases:
        for node in ast.walk(case.pattern):
            if isinstance(node, ast.MatchClass) and isinstance(node.cls, ast.Name) and node.cls.id in UNION_CLASSES:
                return True
            if not isinstance(node, ast.MatchValue) or not isinstance(node.value, ast.Attribute):
                continue
            owner = node.value.value
            if isinstance(owner, ast.Name) and owner.id in ENUMS:
                return True
    return False


def ends_in_assert_never(statement: ast.Match) -> bool:
    last = statement.cases[-1]
    return ast.unparse(last).startswith("case _:\n    assert_never(") and last.guard is None


def has_silent_case(statement: ast.Match) -> bool:
    """Whether a case takes all members that no other names."""
    wildcards = [
        case for case in statement.cases[:-1] if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
    ]
    return bool(wildcards)


@pytest.mark.slow
def test_each_match_over_the_model_ends_in_assert_never() -> None:
    over_model = [(file, statement) for file, statement in matches() if is_over_model(statement)]
    assert len(over_model) > 50
    silent = {
        (file, ast.unparse(statement.subject))
        for file, statement in over_model
        if not ends_in_assert_never(statement) or has_silent_case(statement)
    }
    assert silent == set()


NEVER = "    case _:\n        assert_never(x)\n"


@pytest.mark.parametrize(
    ("cases", "is_exhaustive"),
    [
        ("    case Op.EQ | Op.NE:\n        pass\n" + NEVER, True),
        ("    case Op.EQ if y:\n        pass\n    case Op.EQ:\n        pass\n" + NEVER, True),
        ("    case Op.EQ:\n        pass\n", False),
        ("    case Op.EQ:\n        pass\n    case _:\n        pass\n", False),
        ("    case Op.EQ:\n        pass\n    case _ if y:\n        pass\n" + NEVER, False),
        ("    case Presence() | AnyOf():\n        pass\n    case other:\n        pass\n", False),
    ],
)
def test_a_silent_case_is_found(cases: str, is_exhaustive: bool) -> None:
    statement = ast.parse(f"match x:\n{cases}").body[0]
    assert isinstance(statement, ast.Match)
    assert is_over_model(statement)
    assert (ends_in_assert_never(statement) and not has_silent_case(statement)) is is_exhaustive


def test_each_enum_of_the_model_is_listed() -> None:
    unions = {"Leaf", "Test", "Condition", "Pin"}
    assert {*MUST_KNOW, *NOT_MATCHED} - unions == ENUMS
    assert MUST_KNOW.keys().isdisjoint(NOT_MATCHED)


UNIONS = {
    "Leaf": ("Leaf = Presence | Absence | Comparison\n", "Leaf = Presence | Absence | Comparison | AddedLeaf\n"),
    "Test": ("Test = Leaf | AnyOf | AllOf | Negation\n", "Test = Leaf | AnyOf | AllOf | Negation | AddedTest\n"),
    "Condition": ("Condition = Test | Uniqueness\n", "Condition = Test | Uniqueness | AddedCondition\n"),
    "Pin": ("    | OwnTable\n)\n", "    | OwnTable\n    | AddedPin\n)\n"),
}


def add_members(source: Path) -> None:
    """Adds the member `ADDED` to each enum, and a class to each union, in a copy of the source."""
    for module in MODULES:
        path = source.parent / f"{module.__name__.replace('.', '/')}.py"
        text = path.read_text("utf-8")
        for name in ENUMS & vars(module).keys():
            text = re.sub(rf"^(class {name}\((?:Str)?Enum\):\n)", r'\1    ADDED = "added"\n', text, flags=re.MULTILINE)
        if module is prejoin.workload.model:
            for name, (old, new) in UNIONS.items():
                assert text.count(old) == 1, f"{name} is defined in another way"
                tag = 'tag_field="pin"' if name == "Pin" else 'tag_field="kind"'
                text = text.replace(old, new) + f"\n\nclass Added{name}(Model, frozen=True, {tag}):\n    pass\n"
        path.write_text(text, "utf-8")


@pytest.mark.slow
def test_one_more_member_fails_in_each_package_that_has_to_know_it(tmp_path: Path) -> None:
    """All members are added at once, because a run of mypy takes 7 s, without a cache 17 s."""
    shutil.copytree(SOURCE, tmp_path / "src" / "prejoin", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    add_members(tmp_path / "src" / "prejoin")
    cache = tmp_path / "cache"
    if (ROOT / ".mypy_cache").exists():
        shutil.copytree(ROOT / ".mypy_cache", cache)
    packages = [argument for package in PACKAGES for argument in ("-p", f"prejoin.{package}")]
    command = [sys.executable, "-m", "mypy", *packages, "--cache-dir", str(cache), "--no-error-summary"]
    result = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=600)
    unhandled: dict[str, set[str]] = defaultdict(set)
    for line in result.stdout.splitlines():
        if (place := re.match(r'src/prejoin/(\w+)/.+ error: Argument 1 to "assert_never" has', line)) is not None:
            for enum, union in re.findall(r"(\w+)\.ADDED\b|\bAdded(\w+)", line):
                unhandled[enum or union].add(place[1])
    assert result.returncode == 1, result.stderr
    assert unhandled.keys() == MUST_KNOW.keys()
    missing = {name: set(packages.split()) - unhandled[name] for name, packages in MUST_KNOW.items()}
    assert {name: packages for name, packages in missing.items() if packages} == {}
