"""The documents on which infrastructure is tested, each designed once; and a template read as CloudFormation reads it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from tests.solutions import solve

from prejoin.design.model import Design
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[3]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])
SHOP = ROOT / "examples" / "shop" / "access-patterns.md"


def named(path: Path) -> str:
    return path.parent.name


@cache
def designed(path: Path) -> tuple[Workload, Design]:
    workload = read_file(path).workload
    return workload, solve(workload).design


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc] # in C, if it was built so
    """Functions in their short form as what they stand for: `!Ref Table` is {"Ref": "Table"}."""


def _function(loader: yaml.SafeLoader, suffix: str, node: yaml.Node) -> Any:
    assert isinstance(node, yaml.ScalarNode)
    return {suffix if suffix == "Ref" else f"Fn::{suffix}": loader.construct_scalar(node)}


_Loader.add_multi_constructor("!", _function)


def read_template(text: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.load(text, _Loader)
    return found


def resolved(part: Any, table: str) -> Any:
    """A part of a template with what its functions give, once the table is there."""
    arn = f"arn:aws:dynamodb:eu-central-1:123456789012:table/{table}"
    match part:
        case {"Ref": "TableName" | "Table"}:
            return table
        case {"Fn::GetAtt": "Table.Arn"}:
            return arn
        case {"Fn::GetAtt": str(name)}:
            return name
        case {"Fn::Sub": str(text)}:
            return text.replace("${Table.Arn}", arn).replace("${Bucket.Arn}", "Bucket.Arn").replace("${Table}", table)
        case dict():
            return {name: resolved(value, table) for name, value in part.items()}
        case list():
            return [resolved(one, table) for one in part]
    return part
