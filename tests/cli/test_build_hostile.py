"""A document with injected code: parsers of each output language must read it as text."""

from __future__ import annotations

import ast
import json
import re
import typing
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token

from prejoin.cli.run import run
from prejoin.workload.document.markdown import _cells
from tests.cli.conftest import Prejoin
from tests.render.infrastructure.documents import read_template
from tests.render.infrastructure.hcl import Reader

pytestmark = pytest.mark.slow

TEXT = (
    "$(id) `id` ]]> <script>alert(1)</script> ${AWS::Region} $${x} {{now}} %{if x} %%{x} "
    "\"q\" 's' \\ # a: b - !Ref 'X' */ --> &amp; <!-- yes null"
)
NAMES = ("$id <script>", "__proto__", "null", "yes", "- # it's", "]]>", "%x", "<b>", "$x", "*/", "true")
"""Names of attributes. `{}` and `:` have a meaning in keys, and the check refuses them."""
VALUES = (
    *(
        "$(id)",
        "${AWS::Region}",
        "{{x}}",
        "%{x}",
        "]]>",
        "<script>",
        "a: b",
        "- c",
        "# d",
        "yes",
        "null",
        "it's",
        "tick`s",
    ),
    *("a  # b", "back\\slash", 'say "hi"', "$${x}", "!Ref X", "*/", "-->", "__proto__", "&amp;"),
)
TOML = """package = "hostile"
infrastructure = ["cloudformation", "terraform", "cdk-python", "cdk-typescript", "sst"]
workbench = true
[table]
encryption = "customer"
[table.tags]
for = "a: b - @"
null = "yes"
__proto__ = "x"
"""


def document() -> str:
    names = [f"`{name}`" for name in NAMES]
    values = " | ".join(json.dumps(value, ensure_ascii=False) for value in VALUES)
    attributes = "\n".join(f"  - {name} (string) - {TEXT}" for name in names)
    text = TEXT.replace("|", "\\|")
    reads = "\n".join(
        f"| AP-1{number:02} | Order | {text} | {name}, status = {json.dumps(value)} | Collection | {other} "
        "| Yes | 1/s | Eventual | No |"
        for number, (name, other, value) in enumerate(zip(names, [*names[1:], names[0]], VALUES, strict=False))
    )
    return f"""# {TEXT}

> Status: DRAFT

## Overview

{TEXT}

## Entities

### Order

- **Description**: {TEXT}
- **Attributes**:
  - `orderId` (string, id) - {TEXT}
{attributes}
  - `status` ({values}, mutable) - {TEXT}

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
|---|---|---|---|---|---|---|---|---|---|
| AP-001 | Order | {text} | orderId | Single | - | No | 1/s | Eventual | No |
{reads}

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
|---|---|---|---|---|---|---|---|
| AP-002 | Order | {text} | orderId, status | update Order (status) | No | - | 1/s |
| AP-003 | Order | {text} | orderId, {", ".join(names)}, status | create Order | No | - | 1/s |

## Decisions

- Order has key `<b> ]]> %% '#{{orderId}}` and `<script> % yes - it's`
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "access-patterns.md").write_text(document(), "utf-8")
    (folder / "prejoin.toml").write_text(TOML, "utf-8")
    assert run(["build", str(folder / "access-patterns.md"), "--yes"]) == 0
    return folder


def outputs(folder: Path, suffix: str) -> dict[str, str]:
    found = {
        str(path.relative_to(folder)): path.read_text("utf-8")
        for path in sorted(folder.rglob(f"*{suffix}"))
        if path.name != "access-patterns.md"
    }
    assert found
    return found


def test_python_has_them_as_strings(built: Path) -> None:
    found = outputs(built, ".py")
    assert len(found) > 7
    constants = {
        node.value
        for text in found.values()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert constants >= set(VALUES)
    assert constants >= set(NAMES)
    assert f"Encrypts the table of {TEXT}" in constants


def test_cloudformation_has_them_as_texts(built: Path) -> None:
    template = read_template(outputs(built, ".yaml")["template.yaml"])
    assert template["Description"] == f"The table of {TEXT}"
    resources = template["Resources"]
    assert resources["TableKey"]["Properties"]["Description"] == f"Encrypts the table of {TEXT}"
    tags = {one["Key"]: one["Value"] for one in resources["Table"]["Properties"]["Tags"]}
    assert tags == {"for": "a: b - @", "null": "yes", "__proto__": "x"}


def test_terraform_has_them_as_texts(built: Path) -> None:
    found: dict[str, typing.Any] = {}
    for text in outputs(built, ".tf").values():
        found |= Reader(text).body()
    (key,), (table,) = found["resource.aws_kms_key.table"], found["resource.aws_dynamodb_table.table"]
    assert key["description"] == f"Encrypts the table of {TEXT}"
    assert table["tags"] == {"for": "a: b - @", "null": "yes", "__proto__": "x"}


def test_typescript_has_them_as_strings(built: Path) -> None:
    token = re.compile(r'"(?:[^"\\\n]|\\.)*"|`[^`]*`|//[^\n]*|/\*.*?\*/', re.DOTALL)
    for name, text in outputs(built, ".ts").items():
        strings = [json.loads(one) for one in token.findall(text) if one.startswith('"')]
        assert f"Encrypts the table of {TEXT}" in strings, name
        rest = token.sub(" ", text)
        assert not re.search(r"script>|\]\]>|#|\\|%|__proto__", rest), name
        assert set(re.findall(r"`[^`]*`", token.sub(lambda one: one[0] if one[0][0] == "`" else " ", text))) <= {
            f"`${{{place}}}/index/{index}`"
            for place in ("table.arn", "this.table.tableArn")
            for index in indexes(built)
        }


def indexes(built: Path) -> list[str]:
    template = read_template(outputs(built, ".yaml")["template.yaml"])
    found = [one["IndexName"] for one in template["Resources"]["Table"]["Properties"]["GlobalSecondaryIndexes"]]
    assert all(re.fullmatch(r"[a-z0-9-]+", name) for name in found)
    return found


def test_pictures_have_them_as_text(built: Path) -> None:
    for name, text in outputs(built, ".svg").items():
        root = ElementTree.fromstring(text)
        tags = {element.tag.rpartition("}")[2] for element in root.iter()}
        assert tags <= {"svg", "title", "desc", "style", "rect", "path", "circle", "text", "g", "tspan"}, name
        assert {
            attribute for element in root.iter() for attribute in element.attrib if attribute.startswith("on")
        } == set()
    entities = ElementTree.fromstring(outputs(built, ".svg")["pictures/entities.svg"])
    assert any(TEXT in (element.text or "") for element in entities.iter())


def tokens(found: list[Token]) -> Iterator[Token]:
    for token in found:
        yield token
        yield from tokens(token.children or [])


def test_pages_have_them_as_text(built: Path) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    found = outputs(built, ".md")
    assert set(found) == {"keys.md", "query-interfaces.md", "table-design.md", "pictures/README.md"}
    for name, text in found.items():
        page = list(tokens(parser.parse(text)))
        assert [token.content for token in page if token.type.startswith("html") and token.content != "<br>"] == [], (
            name
        )
        tables = [token.map for token in page if token.type == "table_open" and token.map]
        lines = text.split("\n")
        for first, last in tables:
            assert len({len(_cells(line, 1)) for line in lines[first:last]}) == 1, (name, first)
        # Each part of the page is in its place: no text opened a block that includes the next parts.
        assert sum(token.type == "fence" and not token.content.endswith("\n") for token in page) == 0
        headings = [page[at + 1].content for at, token in enumerate(page) if token.type == "heading_open"]
        assert headings[0].startswith("```" if "``" in TEXT else "``"), name
    shown = [
        token.content for token in tokens(parser.parse(found["query-interfaces.md"])) if token.type == "code_inline"
    ]
    assert any(TEXT in (json.loads(one) if one.startswith('"') else one) for one in shown)


def test_workbench_model_has_them_as_texts(built: Path) -> None:
    model = json.loads(outputs(built, ".json")["workbench.json"])
    assert model["ModelName"] == TEXT
    names = {one["AttributeName"] for table in model["DataModel"] for one in table["NonKeyAttributes"]}
    assert names >= set(NAMES)


SMALL = """# Shop

## Entities

### Order

- **Attributes**:
  - `orderId` (string, id)

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result |
|---|---|---|---|---|
| AP-001 | Order | One | orderId | Single |
"""


@pytest.mark.parametrize("name", ["$(id)", "a`b", "${x}", "<b>", "a: b", "a/b", "..", 'a\\"b', "a\\nb"])
def test_names_that_stand_in_code_are_plain(prejoin: Prejoin, here: Path, name: str) -> None:
    (here / "access-patterns.md").write_text(SMALL, "utf-8")
    for settings in (f'package = "{name}"', f'[roles]\n"{name}" = "all"'):
        (here / "prejoin.toml").write_text(settings, "utf-8")
        ran = prejoin("build", "--yes")
        assert ran.status == 1, ran.err
        assert {path.name for path in here.iterdir()} == {"access-patterns.md", "prejoin.toml"}
