"""Pages list every pattern with its method, test and operation, and every key with its readers and writers."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

import pytest
from hypothesis import HealthCheck, given, settings
from msgspec.structs import replace
from tests.design.document.strategies import designs
from tests.place import examples
from tests.render.designed import NAMES, WITH_COPY, designed
from tests.workload.strategies import workloads

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Call, Design
from prejoin.render.documents.key_map import changers, key_map, readers, writers
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.documents.render_documents import DocumentOptions, render_documents
from prejoin.render.naming import method_names
from prejoin.render.python.package import Options, repository_methods, repository_tests
from prejoin.workload.document.markdown import parse
from prejoin.workload.model import Read, Workload


def page(name: str) -> str:
    workload, design = designed(name)
    return query_interfaces(workload, design, method_names(workload))


def rows(text: str, section: str) -> list[dict[str, str]]:
    """The rows of the tables of a section."""
    found = []
    for one in parse(text):
        if one.title.text == section:
            for block in one.blocks:
                heads = [cell.text for cell in block.header]
                found += [dict(zip(heads, (cell.text for cell in row), strict=True)) for row in block.rows]
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_matrix_has_a_row_for_each_pattern(name: str) -> None:
    workload, design = designed(name)
    matrix = rows(page(name), "Traceability")
    assert [row["ID"] for row in matrix] == [pattern.id for pattern in workload.patterns]
    names = method_names(workload)
    for row in matrix:
        operation = design.operation(row["ID"])
        if operation is None:
            assert row["Operation"] == "out of scope"
            continue
        served = operation.served
        assert row["Method"] == (f"`{names[row['ID']]}`" if served else "-")
        assert (row["Operation"] == "not served") == (not served)
        assert all(str(request.call) in row["Operation"] for request in operation.requests if served)


@pytest.mark.parametrize("name", NAMES)
def test_each_pattern_has_a_section_that_says_what_is_sent(name: str) -> None:
    workload, _ = designed(name)
    titles = [section.title.text for section in parse(page(name)) if section.level == 3]
    assert [title.partition(":")[0] for title in titles] == [pattern.id for pattern in workload.patterns]


def test_read_section_has_inputs_result_requests_and_cost() -> None:
    (section,) = [s for s in parse(page(WITH_COPY)) if s.title.text == "AP-004: `user_orders`"]
    assert section.raw.splitlines()[2:] == [
        "- **Takes**: userId",
        "- **Gives**: Order, by placedAt (descending), in pages of 20",
        "- **Sends**: One Query on the table: Order in partition `USER#{userId}`, sort key begins with `ORDER#`, "
        "in descending order, 20 a page.",
        "- **Costs**: 1 read unit a call; 80 times a second, that is $25.92 a month",
    ]


def test_write_section_has_its_conditions() -> None:
    (section,) = [s for s in parse(page("shop")) if s.title.text == "AP-022: `place_order`"]
    assert "- **If**: Product.stock >= quantity" in section.raw
    assert "stock >= {quantity}; updates User" in section.raw


def test_unserved_pattern_has_a_reason_and_no_method() -> None:
    workload, design = designed("shop")
    asked = replace(workload, reads=(*workload.reads, Read("AP-099", entities=("User",), description="All users")))
    text = query_interfaces(asked, map_patterns(design, asked), method_names(asked))
    assert "17 methods, 17 of 18 access patterns served" in text
    (section,) = [s for s in parse(text) if s.title.text == "AP-099"]
    assert "- **Not served**: " in section.raw
    assert rows(text, "Traceability")[10]["Method"] == "-"


# --- With the code --------------------------------------------------------------------------------------------------


def test_methods_have_signatures_and_tests() -> None:
    workload, design = designed("shop")
    methods = repository_methods(workload, design)
    tests = {
        "AP-001": ["test_user_profile"],
        "AP-022": ["test_place_order", "test_place_order_refuses_a_missing_user", "test_place_order_refuses_others"],
    }
    text = query_interfaces(workload, design, method_names(workload), {id_: methods[id_] for id_ in tests}, tests=tests)
    matrix = {row["ID"]: row for row in rows(text, "Traceability")}
    assert matrix["AP-001"]["Method"] == "`user_profile`"
    assert matrix["AP-001"]["Test"] == "`test_user_profile`"
    assert matrix["AP-022"]["Test"] == "`test_place_order`, 2 refusals"
    assert "`tests/test_repository.py::test_place_order_refuses_a_missing_user`" in text
    assert matrix["AP-002"]["Method"] == "-"
    assert "> Summary: 2 methods, 2 with a test, 17 of 17 access patterns served" in text
    assert "```python\nuser_profile(user_id: UUID) -> User | None\n```" in text


def test_a_signature_has_a_line_for_each_parameter_where_one_line_is_too_short() -> None:
    text = repository_methods(*designed("shop"))["AP-005"].signature
    lines = text.splitlines()
    assert lines[0] == "user_orders_of_period("
    assert lines[1] == "    user_id: UUID,"
    assert "    *," in lines
    assert lines[-1] == ") -> Page[Order]"


@pytest.mark.parametrize("name", ["shop", "blog", "files", "metrics", "seed_music_ranking"])
def test_generated_code_has_a_method_and_a_test_for_every_pattern(name: str) -> None:
    workload, design = designed(name)
    tests = {pattern: one.names for pattern, one in repository_tests(workload, design, Options()).items()}
    options = DocumentOptions(repository_methods(workload, design), tests=tests)
    text = render_documents(workload, design, options)[PurePosixPath("query-interfaces.md")]
    matrix = rows(text, "Traceability")
    assert [row["ID"] for row in matrix if "-" in (row["Method"], row["Test"])] == []


# --- The key map ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_key_is_in_the_map(name: str) -> None:
    workload, design = designed(name)
    text = key_map(workload, design)
    for item in design.items:
        for facet in item.facets:
            assert all(f"`{template}`" in text for template in (*facet.pk, *facet.sk))


@pytest.mark.parametrize("name", NAMES)
def test_every_pattern_lists_its_key(name: str) -> None:
    _, design = designed(name)
    for operation in design.operations:
        for request in operation.requests:
            if not request.actions:
                for entity in request.entities:
                    items = [i for i in design.items if i.entity == entity and i.facet(request.slot)]
                    assert any(operation.pattern in readers(design, request.slot, item) for item in items)
            for action in request.actions:
                if action.action != "ConditionCheck":
                    assert operation.pattern in writers(design, action.item)


def test_copy_lists_its_readers() -> None:
    _, design = designed(WITH_COPY)
    own, copy = design.item("Order"), design.item("Order", "by-userId")
    assert own
    assert copy
    assert readers(design, TABLE, own) == ["AP-007"]
    assert readers(design, TABLE, copy) == ["AP-003", "AP-004", "AP-005"]


def test_a_lookup_before_a_write_is_read_where_its_key_is() -> None:
    _, design = designed("seed_music_ranking")
    found = design.operation("AP-022")
    song = design.item("Song")
    assert found
    assert song
    assert [request.slot for request in found.requests if request.call is Call.GET] == [TABLE]
    assert "AP-022" in readers(design, TABLE, song)


def test_checked_item_is_not_written() -> None:
    _, design = designed("seed_music_ranking")
    assert "AP-021" not in writers(design, "User")


def test_attributes_in_keys_name_who_changes_them() -> None:
    workload, _ = designed("shop")
    order, product = workload.entity("Order"), workload.entity("Product")
    assert order
    assert product
    assert changers(workload, order, "status") == ["AP-023", "AP-024"]
    assert changers(workload, order, "placedAt") == []
    assert changers(workload, product, "productId") == []  # a put under another id is another product
    assert "AP-025" in changers(workload, product, "price")


# --- All documents --------------------------------------------------------------------------------------------------


def test_the_files_and_that_they_are_stable() -> None:
    workload, design = designed("shop")
    found = render_documents(workload, design)
    assert list(map(str, found)) == ["query-interfaces.md", "keys.md"]
    assert found == render_documents(workload, design)
    with_code = render_documents(workload, design, DocumentOptions(repository_methods(workload, design)))
    assert with_code[PurePosixPath("query-interfaces.md")] != found[PurePosixPath("query-interfaces.md")]


# Generating a workload takes longer than rendering it.
@settings(
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(workloads(), designs())
def test_any_workload_can_be_documented(workload: Workload, design: Design) -> None:
    for text in (key_map(workload, design), query_interfaces(workload, design, method_names(workload))):
        text.encode()
        for line in text.splitlines():
            assert not re.match(r"\|.*[^|]$", line), "a row ends where its cells do"
