"""Designs and documents with mistakes of any kind: something is said about them, and nothing breaks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.place import examples
from tests.solutions import solve

from prejoin.design.checks import check_design
from prejoin.design.cost.bill import amplification, bill
from prejoin.design.document.write_document import write_document
from prejoin.design.explain import as_markdown, as_text, explain_design, topics, why
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.mapping.validate import DesignError, misfits
from prejoin.design.model import Design, Facet, Projection, ProjectionKind, When
from prejoin.diagnostics import Diagnostic, has_errors
from prejoin.engine import Embedded
from prejoin.proof.prove import prove
from prejoin.render.documents.render_documents import render_documents
from prejoin.render.infrastructure.errors import InfrastructureError
from prejoin.render.infrastructure.languages import LANGUAGES
from prejoin.render.infrastructure.options import Infrastructure
from prejoin.render.pictures.render_pictures import render_pictures
from prejoin.render.python import Options, render_python
from prejoin.render.workbench import render_workbench
from prejoin.workload.checks import check
from prejoin.workload.document.write_document import UnwritableError
from prejoin.workload.files import read_file
from prejoin.workload.model import Workload

CORPUS = Path(__file__).parents[1] / "corpus"
NAMES = ("debrie_session_store", "aws_bookmarks", "aws_bank_payments", "aws_ski_resort", "debrie_ecommerce")
WORDS = ("", "nope", "{", "{nope}", "X#{nope}", "table", "gsi1", "0")


@cache
def sound(name: str) -> tuple[Workload, Design]:
    workload = read_file(CORPUS / name / "access-patterns.md").workload
    return workload, solve(workload).design


def anything_about(workload: Workload, design: Design) -> list[Diagnostic]:
    """What is said about a design; and all that is made of one is made, or refused by those who may refuse."""
    said = [*check(workload), *misfits(design, workload), *check_design(design, workload)]
    bill(workload, design)
    if has_errors(said):
        return said
    mapped = map_patterns(design, workload)
    said += check_design(mapped, workload)
    bill(workload, mapped)
    amplification(workload, mapped)
    if has_errors(said):
        return said
    render_python(workload, mapped, Options("some"))
    with Embedded() as engine:
        proof = prove(workload, mapped, engine)
    assert proof.blocked == ""
    return said


def shown(workload: Workload, design: Design, *languages: str) -> list[str]:
    """All that shows a design, whatever is wrong with it; what is refused, in the words that say why."""

    def told_all(workload: Workload, design: Design) -> None:
        explanation = explain_design(workload, design)
        assert as_text(explanation)
        assert as_markdown(explanation)
        assert all(why(explanation, topic) for topic in topics(explanation))

    def written(workload: Workload, design: Design) -> None:
        write_document(design, workload)

    # Pages and pictures show what there is; the others may refuse.
    assert all(render_documents(workload, design).values())
    assert all(render_pictures(workload, design).values())
    said = []
    deployed = (partial(LANGUAGES[language], options=Infrastructure()) for language in languages)
    for show in (told_all, *deployed, written, render_workbench):
        try:
            show(workload, design)
        except (DesignError, InfrastructureError, UnwritableError) as refusal:
            said.append(str(refusal))
    return said


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_design_has_no_errors(name: str) -> None:
    assert not has_errors(anything_about(*sound(name)))


@pytest.mark.parametrize("name", NAMES)
def test_a_sound_design_is_shown_in_every_way(name: str) -> None:
    assert shown(*sound(name), *LANGUAGES) == []


@pytest.mark.parametrize("name", NAMES)
def test_table_without_partition_key_is_rendered_or_refused(name: str) -> None:
    workload, design = sound(name)
    base, *indexes = design.slots
    refusals = shown(workload, replace(design, slots=(replace(base, pk=()), *indexes)), *LANGUAGES)
    assert len(refusals) >= len(LANGUAGES)


def test_misfit_is_reported_with_a_fix() -> None:
    workload, design = sound("debrie_session_store")
    (item,) = design.items
    wrong = replace(
        design, items=(replace(item, facets=(Facet("table", ("X#{nope}",), ("Y",)), Facet("gsi9", ("X",)))),)
    )
    for said in shown(workload, wrong, "cloudformation")[:2]:
        assert "does not fit its access patterns, key template 'X#{nope}': there is no attribute nope" in said
        assert "(and 1 more, which `misfits` tells): name attributes of `Session`" in said


def test_an_index_that_is_read_and_has_nothing_in_it_is_not_deployed() -> None:
    workload, design = sound("debrie_session_store")
    assert {request.slot for operation in design.operations for request in operation.requests} == {"table", "gsi1"}
    bare = replace(design, items=tuple(replace(item, facets=item.facets[:1]) for item in design.items))
    for language, render in LANGUAGES.items():
        with pytest.raises(InfrastructureError, match="reads the index 'gsi1', in which no entity has a key: give one"):
            render(workload, bare, Infrastructure())
        assert shown(workload, map_patterns(bare, workload), language) == []


def test_a_design_of_an_earlier_document_is_shown() -> None:
    workload, design = sound("debrie_ecommerce")
    for read in workload.reads:
        fewer = replace(workload, reads=tuple(one for one in workload.reads if one is not read))
        assert shown(fewer, design, "terraform") == []


def test_incomplete_design_is_reported_and_priced() -> None:
    workload, design = sound("debrie_ecommerce")
    first, *others = design.items
    for items in ((), tuple(others), (replace(first, facets=first.facets[1:]), *others), (replace(first, facets=()),)):
        assert has_errors(anything_about(workload, replace(design, items=items)))
    assert has_errors(anything_about(workload, replace(design, slots=design.slots[:1])))


def test_an_index_that_is_to_hold_what_no_item_has_is_priced() -> None:
    workload, design = sound("aws_bookmarks")
    nothing = Projection(ProjectionKind.INCLUDE, ("nope",))
    slots = tuple(replace(slot, projection=nothing) if slot.name != "table" else slot for slot in design.slots)
    assert anything_about(workload, replace(design, slots=slots))


@pytest.mark.parametrize(
    ("facet", "part"),
    [
        (Facet("table", ("X",), ("{nope}",)), "nope"),
        (Facet("table", ("X",), ("Y",), (When("username"),)), "has a condition, and all items are in the table"),
    ],
)
def test_impossible_key_is_reported(facet: Facet, part: str) -> None:
    workload, design = sound("debrie_session_store")
    (item,) = design.items
    wrong = replace(design, items=(replace(item, facets=(facet, *item.facets[1:])),))
    assert any(part in d.message for d in misfits(wrong, workload))
    with Embedded() as engine:
        proof = prove(workload, wrong, engine)
    assert not proof.right
    assert [a.pattern for a in proof.patterns] == [p.id for p in workload.patterns]


def places(tree: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every part of a tree of plain data, and the way to it."""
    yield path, tree
    inner = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


@st.composite
def mistaken(draw: st.DrawFn, tree: Any, parts: frozenset[str]) -> Any:
    """The tree with something in one of its parts gone, twice, or another."""
    tree = msgspec.json.decode(msgspec.json.encode(tree))
    found = [(path, part) for path, part in places(tree) if path and path[0] in parts]
    path, part = draw(st.sampled_from(found))
    above = tree
    for key in path[:-1]:
        above = above[key]
    if isinstance(part, str):
        texts = sorted({one for _, one in found if isinstance(one, str)})
        above[path[-1]] = draw(st.sampled_from(WORDS) | st.sampled_from(texts))
    elif isinstance(part, bool):
        above[path[-1]] = not part
    elif isinstance(above, list):
        above[path[-1] : path[-1] + 1] = draw(st.sampled_from([[], [part, part]]))
    else:
        above.pop(path[-1])
    return tree


KEYS = frozenset({"slots", "items", "guards", "separator", "typeAttribute", "ttlAttribute", "entities", "table"})
ALL = KEYS | {"operations", "decisions", "reads", "writes", "deletes", "billing", "rawKeys"}


def mistake(data: st.DataObject, name: str, parts: frozenset[str]) -> tuple[Workload, Design]:
    """A workload and its design, one of which has a mistake."""
    workload, design = sound(name)
    try:
        if data.draw(st.booleans(), "about the document"):
            return msgspec.convert(data.draw(mistaken(workload, parts)), Workload), design
        return workload, msgspec.convert(data.draw(mistaken(design, parts)), Design)
    except msgspec.ValidationError:
        assume(False)
        raise


def test_guard_of_a_missing_attribute_is_reported() -> None:
    workload, design = sound("debrie_ecommerce")
    (guard,) = design.guards
    entities = tuple(
        replace(e, attributes=tuple(a for a in e.attributes if a.name not in guard.attributes))
        if e.name == guard.entity
        else e
        for e in workload.entities
    )
    assert has_errors(anything_about(replace(workload, entities=entities), design))


@given(name=st.sampled_from(NAMES), data=st.data())
def test_design_with_any_mistake_is_reported_or_can_be_used(name: str, data: st.DataObject) -> None:
    said = anything_about(*mistake(data, name, KEYS))
    assert all(one.code and one.message and one.fix for one in said)


@given(name=st.sampled_from(NAMES), language=st.sampled_from([*LANGUAGES]), data=st.data())
@settings(max_examples=examples(20))
def test_any_mistake_is_rendered_or_refused(name: str, language: str, data: st.DataObject) -> None:
    refusals = shown(*mistake(data, name, ALL), language)
    assert all(refusals), "each says why"
