"""Projections: an index holds everything, unless all its reads say what they want and less is worth it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from tests.solutions import solve

from prejoin import Client, NotServed
from prejoin.design.cost.bill import bill
from prejoin.design.layout.projection import with_projections
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import (
    TABLE,
    Design,
    Facet,
    Item,
    KeyAttribute,
    Projection,
    ProjectionKind,
    Slot,
)
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Workload

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("examples/*/access-patterns.md"), *ROOT.glob("tests/corpus/*/access-patterns.md")])
NEWS = """\
# News

## Entities

### Article

- **Attributes**:
  - `articleId` (ulid, generated)
  - `section` (string, immutable)
  - `title` (string, mutable)
  - `body` (string, mutable)
  - `views` (integer, mutable)
  - `endsAt` (integer, {flag})
- **Cardinality**: ~10K total
- **Size**: {size}

## Access Patterns

### Reads

| ID | Entity | Description | Input Parameters | Result | Sort | Paginated | Frequency | Consistency | Multi-Entity |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| AP-001 | Article | One | articleId | Single | - | No | Hot | Eventual | No |
| AP-002 | Article | Of a section | section{more} | {result} | - | No | Warm | Eventual | No |

### Writes

| ID | Entity | Description | Input Parameters | Items Written | Transaction | Conditions | Frequency |
| --- | --- | --- | --- | --- | --- | --- | --- |
| AP-020 | Article | Write one | articleId, section, title, body | create Article | No | - | Warm |
| AP-021 | Article | Change it | articleId, body | update Article (body) | No | - | Warm |
"""


def news(result: str, size: str = "8 KB", more: str = "", flag: str = "optional") -> tuple[Workload, Design]:
    reading = read_text(NEWS.format(result=result, size=size, more=more, flag=flag), "md")
    assert [d for d in reading.diagnostics if d.severity == "error"] == []
    slots = [Slot(name, (KeyAttribute(f"{name}pk"),), (KeyAttribute(f"{name}sk"),)) for name in (TABLE, "gsi1")]
    base = Facet(TABLE, ("ARTICLE#{articleId}",), ("ARTICLE",))
    index = Facet("gsi1", ("SECTION#{section}",), ("{articleId}",))
    design = Design("news", tuple(slots), (Item("Article", "Article", (base, index)),))
    return reading.workload, map_patterns(design, reading.workload)


def projection(result: str, **how: Any) -> Projection:
    workload, design = news(result, **how)
    return with_projections(design, workload).slots[1].projection


def test_a_read_that_wants_everything_keeps_everything_in_the_index() -> None:
    assert projection("Collection") == Projection()


def test_a_read_that_says_what_it_wants_makes_the_index_hold_that_and_the_type() -> None:
    assert projection("Collection (title, articleId)") == Projection(
        ProjectionKind.INCLUDE, ("entityType", "articleId", "title")
    )


def test_read_of_key_attributes_needs_keys_only() -> None:
    assert projection("Collection (articleId, section)").kind is ProjectionKind.KEYS_ONLY
    assert projection("Count").kind is ProjectionKind.KEYS_ONLY


def test_filter_attribute_is_projected() -> None:
    assert projection("Count", more=", filter views > 100").attributes == ("entityType", "views")


def test_ttl_attribute_is_projected() -> None:
    assert projection("Count", flag="ttl").attributes == ("entityType", "endsAt")


def test_projection_with_little_saving_is_not_chosen() -> None:
    text = NEWS.replace("Warm", "1/day").replace("Hot", "1/day").replace("~10K", "100")
    reading = read_text(text.format(result="Count", size="200 B", more="", flag="optional"), "md")
    _, design = news("Count")
    assert (
        with_projections(map_patterns(design, reading.workload), reading.workload).slots[1].projection == Projection()
    )


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda p: p.parent.name)
def test_a_projection_changes_no_operation_and_is_never_dearer(path: Path) -> None:
    workload = read_file(path).workload
    design = solve(workload).design
    everything = replace(design, slots=tuple(replace(s, projection=Projection()) for s in design.slots))
    whole = map_patterns(everything, workload)
    part = with_projections(whole, workload)
    assert [o.requests for o in part.operations] == [o.requests for o in whole.operations]
    assert bill(workload, part).total <= bill(workload, whole).total
    assert sum(len(s.projection.attributes) for s in part.slots) <= 100


class Titled(msgspec.Struct, frozen=True):
    article_id: str
    title: str


class Keyed(msgspec.Struct, frozen=True):
    article_id: str
    section: str


@pytest.mark.parametrize(
    ("result", "into"), [("Collection (title, articleId)", Titled), ("Collection (articleId, section)", Keyed)]
)
def test_a_narrow_index_answers_what_it_was_made_for_and_refuses_the_rest(result: str, into: type[Any]) -> None:
    workload, design = news(result)
    narrow = with_projections(design, workload)
    built = load_package(workload, narrow)
    article = built.classes["Article"]
    with Embedded() as engine:
        db = Client(built.schema, narrow.table, engine)
        db.create_table()
        made = article(article_id="01", section="sports", title="Goal", body="…", views=1)
        db.insert(made)
        (found,) = db.query(article, section="sports", into=into).items
        assert found == into(**{name: getattr(made, name) for name in into.__struct_fields__})
        assert db.count(article, section="sports") == 1
        with pytest.raises(NotServed, match="does not hold all attributes"):
            db.query(article, section="sports")


@pytest.mark.parametrize(("wanted", "kind"), [(18, ProjectionKind.INCLUDE), (21, ProjectionKind.ALL)])
def test_an_index_never_names_more_than_dynamodb_takes(wanted: int, kind: ProjectionKind) -> None:
    names = [f"a{number}" for number in range(wanted)]
    text = NEWS.format(result=f"Collection ({', '.join(names)})", size="8 KB", more="", flag="optional")
    text = text.replace("  - `views`", "".join(f"  - `{name}` (string, mutable)\n" for name in names) + "  - `views`")
    _, design = news("Collection (title)")
    workload = read_text(text, "md").workload
    assert with_projections(map_patterns(design, workload), workload).slots[1].projection.kind is kind
