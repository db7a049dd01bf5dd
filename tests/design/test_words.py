"""The words of keys: what is read together lies side by side, and in pages the parent is on the first."""

from __future__ import annotations

from typing import Any

import pytest
from tests.solutions import solve

from prejoin import Client
from prejoin.design.model import Design
from prejoin.engine import Embedded
from prejoin.proof.package import load_package
from prejoin.types import STRING
from prejoin.workload.model import Attribute, Direction, Entity, Input, Read, Result, Sort, Workload


def album(*names: str, direction: Direction | None = None, paginated: bool = True) -> Read:
    """A read of an album with its parts."""
    sort = (Sort("partId", direction),) if direction else ()
    inputs = (Input("albumId"),)
    name = f"AP-{direction or paginated}"
    return Read(name, entities=names, inputs=inputs, result=Result.MANY, sort=sort, paginated=paginated)


def workload(*reads: Read) -> Workload:
    own = Attribute("albumId", STRING, id=True)
    part = (Attribute("albumId", STRING, references="Album"), Attribute("partId", STRING, id=True))
    parts = tuple(Entity(name, attributes=part) for name in ("Track", "Comment", "Accolade"))
    return Workload("Albums", entities=(Entity("Album", attributes=(own,)), *parts), reads=reads)


def words(design: Design) -> dict[str, str]:
    return {item.entity: item.facets[0].sk[0] for item in design.items}


def first_of(design: Design, asked: Workload, read: Read) -> str:
    """The entity that the first page of a read begins with, if a page is one item."""
    made = load_package(asked, design)
    with Embedded() as dynamodb:
        db = Client(made.schema, "albums", dynamodb)
        db.create_table()
        for entity in asked.entities:
            values = dict.fromkeys(made.fields[entity.name].values(), "a")
            db.insert(made.classes[entity.name](**values))
        backwards = bool(read.sort) and read.sort[0].direction is Direction.DESC
        classes = tuple(made.classes[name] for name in read.entities)
        key: dict[str, Any] = {made.fields["Album"]["albumId"]: "a"}
        page = db.collect(classes, limit=1, reverse=backwards, **key)
        return next(name for name, cls in made.classes.items() if isinstance(page.items[0], cls))


@pytest.mark.parametrize("direction", [None, Direction.ASC, Direction.DESC])
@pytest.mark.parametrize("child", ["Track", "Comment", "Accolade"])
def test_the_parent_is_on_the_first_page(child: str, direction: Direction | None) -> None:
    read = album("Album", child, direction=direction)
    asked = workload(read)
    design = solve(asked).design
    operation = design.operation(read.id)
    assert operation is not None
    assert operation.served
    assert first_of(design, asked, read) == "Album"


def test_type_that_sorts_first_has_no_prefix() -> None:
    assert words(solve(workload(album("Album", "Track"))).design)["Album"] == "ALBUM"


def test_type_that_is_not_paginated_has_no_prefix() -> None:
    assert words(solve(workload(album("Album", "Accolade", paginated=False))).design)["Album"] == "ALBUM"


def test_reads_from_both_ends_leave_the_words_alone() -> None:
    both = [album("Album", "Accolade", direction=direction) for direction in Direction]
    assert not any(word.startswith("#") for word in words(solve(workload(*both)).design).values())
