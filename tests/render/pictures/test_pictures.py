"""Pictures are valid XML for any names, texts fit their boxes, and all parts of the design are shown."""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import PurePosixPath
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from tests.design.document.strategies import designs, texts
from tests.design.test_cardinality import helpdesk
from tests.place import examples
from tests.render.designed import KEPT, NAMES, ROOT, WITH_COPY, designed
from tests.solutions import solve
from tests.workload.strategies import workloads

from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, Projection, ProjectionKind, Slot
from prejoin.render.pictures.collections import draw_slot
from prejoin.render.pictures.drawing import Box, Drawing, Words, write_svg
from prejoin.render.pictures.layered import Arrow, place
from prejoin.render.pictures.links import RelationLink, links_of
from prejoin.render.pictures.measure import ELLIPSIS, Font, elide, width, wrap_lines
from prejoin.render.pictures.mermaid import mermaid_relations, mermaid_routes, mermaid_slot
from prejoin.render.pictures.palette import (
    DARK_INK,
    DARK_MUTED,
    DARK_PAGE,
    HUES,
    INK,
    MUTED,
    PAGE,
    Tint,
)
from prejoin.render.pictures.relations import draw_relations
from prejoin.render.pictures.render_pictures import draw_all, render_pictures
from prejoin.render.pictures.routes import draw_routes
from prejoin.render.pictures.rows import partitions_of
from prejoin.workload.files import read_file, read_text
from prejoin.workload.model import Attribute, Entity, Read, Relationship, RelationshipKind, Workload

SVG = "{http://www.w3.org/2000/svg}"


def parsed(drawing: Drawing) -> ElementTree.Element:
    return ElementTree.fromstring(write_svg(drawing).encode())


def seen(drawing: Drawing) -> list[str]:
    """All texts of a drawing, including tooltips."""
    return [text for element in parsed(drawing).iter(f"{SVG}text") for text in element.itertext()]


def assert_all_within(drawing: Drawing) -> None:
    for shape in drawing.shapes:
        if isinstance(shape, Words):
            taken = width(shape.visible_text, shape.font)
            assert taken <= shape.room + 0.02, shape
            left = shape.x - {"start": 0, "middle": taken / 2, "end": taken}[shape.anchor]
            assert left >= 0, shape
            assert left + taken <= drawing.width, shape
            assert shape.y >= shape.font.size
            assert shape.y <= drawing.height, shape
        if isinstance(shape, Box):
            assert shape.x >= 0
            assert shape.y >= 0
            assert shape.x + shape.width <= drawing.width + 0.01, shape
            assert shape.y + shape.height <= drawing.height, shape


def assert_no_words_overlap(drawing: Drawing) -> None:
    spans = []
    for shape in drawing.shapes:
        if isinstance(shape, Words) and shape.visible_text.strip():
            taken = width(shape.visible_text, shape.font)
            left = shape.x - {"start": 0, "middle": taken / 2, "end": taken}[shape.anchor]
            spans.append((left, left + taken, shape.y - 0.75 * shape.font.size, shape.y + 0.1 * shape.font.size, shape))
    for (a, b, top, bottom, one), (c, d, high, low, other) in combinations(spans, 2):
        assert b <= c + 0.01 or d <= a + 0.01 or bottom <= high or low <= top, (one.text, other.text)


# --- Every document of the repository -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_texts_fit_and_do_not_overlap(name: str) -> None:
    for drawing in draw_all(*designed(name)).values():
        assert_all_within(drawing)
        assert_no_words_overlap(drawing)


@pytest.mark.parametrize("name", NAMES)
def test_every_picture_is_xml_with_a_title_and_a_description_and_nothing_active(name: str) -> None:
    for path, text in render_pictures(*designed(name)).items():
        if path.suffix != ".svg":
            continue
        root = ElementTree.fromstring(text.encode())
        assert root.tag == f"{SVG}svg"
        assert root.get("role") == "img"
        assert root.findtext(f"{SVG}title")
        assert root.findtext(f"{SVG}desc")
        tags = {element.tag for element in root.iter()}
        assert tags <= {SVG + t for t in ("svg", "title", "desc", "style", "rect", "path", "circle", "text")}
        names = {attribute for element in root.iter() for attribute in element.attrib}
        assert not [one for one in names if one.startswith("on") or "href" in one]
        assert "url(" not in text


@pytest.mark.parametrize("name", NAMES)
def test_entities_do_not_overlap(name: str) -> None:
    boxes = [s for s in draw_relations(*designed(name)).shapes if isinstance(s, Box) and s.css == "box"]
    assert len(boxes) == len(designed(name)[0].entities)
    for one, other in combinations(boxes, 2):
        apart = one.x + one.width <= other.x or other.x + other.width <= one.x
        assert apart or one.y + one.height <= other.y or other.y + other.height <= one.y


@pytest.mark.parametrize("name", NAMES)
def test_each_entity_attribute_pattern_and_item_is_pictured(name: str) -> None:
    workload, design = designed(name)
    entities = " ".join(seen(draw_relations(workload, design)))
    for entity in workload.entities:
        assert entity.name in entities
        assert all(attribute.name in entities for attribute in entity.attributes)
    routes = seen(draw_routes(workload, design))
    assert [pattern.id for pattern in workload.patterns if pattern.id not in routes] == []
    for slot in design.slots:
        there = {(row.entity, row.note) for part in partitions_of(workload, design, slot) for row in part.rows}
        for item in design.items:
            if item.facet(slot.name):
                assert (item.entity, f"copy {item.copy}" if item.copy else "") in there


@pytest.mark.slow
def test_same_input_same_bytes() -> None:
    workload, design = designed(WITH_COPY)
    assert render_pictures(workload, design) == render_pictures(workload, design)
    assert list(render_pictures(workload, design)) == [
        PurePosixPath("pictures") / name
        for name in ("entities.svg", "table.svg", "gsi1.svg", "gsi2.svg", "access-patterns.svg", "README.md")
    ]


# --- Picture of the table -------------------------------------------------------------------------------------------


def test_items_of_one_partition_stand_in_the_order_of_their_sort_keys() -> None:
    workload, design = designed(WITH_COPY)
    for slot in design.slots:
        partitions = partitions_of(workload, design, slot)
        assert [p.pk for p in partitions] == sorted(p.pk for p in partitions)
        for partition in partitions:
            keys = [row.sk for row in partition.rows]
            assert keys == sorted(keys)


def test_the_table_shows_keys_templates_copies_and_guards() -> None:
    workload, design = designed(WITH_COPY)
    words = seen(draw_slot(workload, design, design.slots[0]))
    for text in ("USER#{userId}", "ORDER#{orderId}", "copy by-userId", "guard of email", "UNIQUE", "ann@example.com"):
        assert text in words


def test_numbers_sort_as_numbers() -> None:
    entity = Entity("Score", attributes=(Attribute("game", id=True), Attribute("rank", id=True)))
    item = Item("Score", "Score", (Facet(TABLE, ("{game}",), ("{rank}",)),))
    slot = Slot(TABLE, (KeyAttribute("game"),), (KeyAttribute("rank", "N"),))
    (partition,) = partitions_of(Workload(entities=(entity,)), Design("t", (slot,), (item,)), slot)
    assert len(partition.rows) == 2


@pytest.mark.parametrize(
    ("projection", "there", "missing"),
    [
        (Projection(ProjectionKind.KEYS_ONLY), {"pk", "sk"}, {"total", "userId"}),
        (Projection(ProjectionKind.INCLUDE, ("total",)), {"pk", "sk", "total"}, {"userId"}),
        (Projection(), {"total", "userId"}, {"pk"}),
    ],
)
def test_an_index_shows_what_it_projects(projection: Projection, there: set[str], missing: set[str]) -> None:
    workload, design = designed(WITH_COPY)
    slot = replace(design.slots[2], projection=projection)
    (partition,) = partitions_of(workload, replace(design, slots=(*design.slots[:2], slot)), slot)
    names = {name for row in partition.rows for name, _ in row.attributes}
    assert there <= names
    assert not missing & names


def test_a_pattern_that_is_not_served_is_shown_with_its_problem() -> None:
    workload, design = designed(WITH_COPY)
    asked = replace(workload, reads=(*workload.reads, Read("AP-099", entities=("User",), description="All users")))
    drawing = draw_routes(asked, map_patterns(design, asked))
    text = " ".join(seen(drawing))
    assert "not served:" in text
    assert "17 of 18 are served." in text
    assert_all_within(drawing)


def test_a_write_marks_the_table_and_each_index_that_follows() -> None:
    workload, design = designed(WITH_COPY)
    one = replace(workload, reads=(), deletes=(), writes=tuple(w for w in workload.writes if w.id == "AP-023"))
    shapes = draw_routes(one, design).shapes
    marks = [s for s in shapes if s.css in (Tint("tone", 2), Tint("ring", 2))]
    # Order is the third entity: in the legend, in the table, and a ring in either index.
    assert [type(mark).__name__ for mark in marks] == ["Box", "Box", "Dot", "Dot"]


# --- Hostile names --------------------------------------------------------------------------------------------------

LONG = "AVeryLongNameThatSomebodyMeantToBeExactAndNobodyWillEverReadInOneBreath" * 2
ODD = (
    "<script>alert(1)</script>",
    "a & b",
    '"quoted"',
    "注文の明細",
    "Größe",
    "🙂🙂",
    "a\x00b",
    "]]>",
    LONG,
    "\ud800",
    "مستخدم",
)


@pytest.mark.parametrize("name", ODD)
def test_odd_names_are_shown_and_escaped(name: str) -> None:
    user = Entity(name, attributes=(Attribute("id", id=True), Attribute(name)))
    order = Entity("Order", attributes=(Attribute("orderId", id=True), Attribute("owner", references=name)))
    workload = Workload(title=name, entities=(user, order), reads=(Read("AP-1", entities=(name,), description=name),))
    item = Item(name, name, (Facet(TABLE, ("X#{id}",), ("X",)),))
    design = Design(name, (Slot(TABLE, (KeyAttribute("pk"),), (KeyAttribute("sk"),)),), (item,))
    for drawing in draw_all(workload, map_patterns(design, workload)).values():
        assert_all_within(drawing)
        shown = "".join(char if char.isprintable() and not "\ud800" <= char <= "\udfff" else "\ufffd" for char in name)
        assert shown in "".join(seen(drawing))
    for path, text in render_pictures(workload, design).items():
        text.encode()
        if path.suffix == ".svg":
            assert "<script" not in text
        else:
            inside_code = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.DOTALL)
            assert not re.search(r"(?<!\\)<", inside_code)


def test_a_long_name_is_cut_and_told_whole_on_pointing() -> None:
    workload = Workload(entities=(Entity(LONG, attributes=(Attribute(LONG, id=True),)),))
    found = [
        (element.findtext(f"{SVG}title"), "".join(element.itertext()))
        for element in parsed(draw_relations(workload, Design("t"))).iter(f"{SVG}text")
    ]
    cut = [(whole, text) for whole, text in found if whole == LONG]
    assert len(cut) == 2
    assert all(text.endswith(ELLIPSIS) for _, text in cut)


def test_indexes_whose_names_differ_in_case_have_files_of_their_own() -> None:
    key = (KeyAttribute("pk"),)
    slots = tuple(Slot(name, key) for name in (TABLE, "by email", "BY-EMAIL", "entities", "日付", "..", "README"))
    names = [str(path).lower() for path in render_pictures(Workload(), Design("t", slots))]
    assert len(set(names)) == len(names) == len(slots) + 3


def test_items_without_keys_are_left_out_with_all_that_constructs_add_to_them() -> None:
    workload = read_file(ROOT / "tests/proof/constructs.md").workload
    design = solve(workload).design
    for position, item in enumerate(design.items):
        items = list(design.items)
        items[position] = replace(item, facets=())
        for drawing in draw_all(workload, replace(design, items=tuple(items))).values():
            assert_all_within(drawing)


# Generating a workload takes longer than drawing it.
@settings(
    max_examples=examples(12),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
@given(workloads(), designs())
def test_any_workload_can_be_drawn(workload: Workload, design: Design) -> None:
    named = [item.entity for item in design.items]
    entities = tuple(replace(e, name=n) for e, n in zip(workload.entities, named, strict=False))
    for one in (workload, replace(workload, entities=entities or workload.entities)):
        for drawing in draw_all(one, design).values():
            assert_all_within(drawing)
        for path, text in render_pictures(one, design).items():
            if path.suffix == ".svg":
                ElementTree.fromstring(text.encode())


# --- Space for texts ------------------------------------------------------------------------------------------------


@given(texts, st.integers(6, 20), st.booleans(), st.booleans(), st.floats(0, 300))
def test_only_texts_that_do_not_fit_are_cut(text: str, size: int, bold: bool, mono: bool, room: float) -> None:
    font = Font(size, bold, mono)
    cut = elide(text, font, room)
    assert width(cut, font) <= room + 0.02
    if width(text, font) <= room:
        assert cut == text


@given(st.text("ab #", max_size=60), st.floats(30, 200))
def test_lines_hold_the_whole_text_if_there_are_enough(text: str, room: float) -> None:
    font = Font(10, mono=True)
    lines = wrap_lines(text, font, room, "#", most=100)
    assert "".join("".join(lines).split()) == "".join(text.split())
    assert all(width(line, font) <= room + 0.02 for line in lines)


# --- Colours --------------------------------------------------------------------------------------------------------


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_texts_can_be_read_on_every_ground_by_day_and_night() -> None:
    for hue in HUES:
        assert contrast(INK, hue.ground) >= 7
        assert contrast(DARK_INK, hue.dark_ground) >= 7
        assert contrast(MUTED, hue.ground) >= 4.5
        assert contrast(DARK_MUTED, hue.dark_ground) >= 4.5
        assert contrast(hue.tone, hue.ground) >= 4.5
        assert contrast(hue.dark_tone, hue.dark_ground) >= 4.5
        assert contrast(hue.tone, PAGE) >= 4.5
        assert contrast(hue.dark_tone, DARK_PAGE) >= 4.5


# --- Places ---------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.integers(20, 200), min_size=1, max_size=9),
    st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), max_size=14),
)
def test_boxes_of_a_column_keep_their_distance(heights: list[int], pairs: list[tuple[int, int]]) -> None:
    arrows = [Arrow(a, b) for a, b in pairs if a < len(heights) and b < len(heights)]
    placed = place(heights, arrows, 20)
    for (at, one), (to, other) in combinations(enumerate(placed.tops), 2):
        if placed.columns[at] == placed.columns[to]:
            assert one + heights[at] + 20 <= other + 0.01 or other + heights[to] + 20 <= one + 0.01
    assert min(placed.tops) >= -0.01
    for passes in placed.passes.values():
        for column, height in passes:
            for at, top in enumerate(placed.tops):
                assert placed.columns[at] != column or not top < height < top + heights[at]


def test_a_chain_goes_from_left_to_right() -> None:
    assert place([10, 10, 10], [Arrow(2, 1), Arrow(1, 0)], 5).columns == (2, 1, 0)


def test_cycle_of_arrows_is_placed() -> None:
    assert sorted(place([10, 10, 10], [Arrow(0, 1), Arrow(1, 2), Arrow(2, 0)], 5).columns) == [0, 1, 2]


# --- Links ----------------------------------------------------------------------------------------------------------


def relationship(left: str, kind: RelationshipKind, right: str, *via: str) -> Workload:
    names = dict.fromkeys((left, right, "Like"))
    likes = (Attribute("userId", id=True, references="User"), Attribute("postId", id=True, references="Post"))
    entities = [Entity(name, attributes=likes if name == "Like" else (Attribute("id", id=True),)) for name in names]
    said = replace(entities[0], relationships=(Relationship(left, kind, right, via),))
    return Workload(entities=(said, *entities[1:]))


def test_many_to_many_goes_through_the_entity_between() -> None:
    found = links_of(relationship("User", RelationshipKind.MANY_TO_MANY, "Post", "Like"))
    assert found == (RelationLink("User", "Like", ("userId",)), RelationLink("Post", "Like", ("postId",)))


def test_many_to_many_with_nothing_between_is_one_link() -> None:
    found = links_of(relationship("User", RelationshipKind.MANY_TO_MANY, "Post"))
    assert RelationLink("User", "Post", mutual=True) in found


def test_a_hierarchy_is_a_link_to_itself() -> None:
    found = links_of(relationship("Folder", RelationshipKind.HIERARCHY, "Folder", "parentId"))
    assert RelationLink("Folder", "Folder", ("parentId",), optional=True) in found
    assert_all_within(draw_relations(relationship("Folder", RelationshipKind.HIERARCHY, "Folder", "id"), Design("t")))


def test_repeated_reference_is_one_link() -> None:
    assert links_of(designed(WITH_COPY)[0]) == (
        RelationLink("User", "Address", ("userId",)),
        RelationLink("User", "Order", ("userId",)),
        RelationLink("Order", "OrderItem", ("orderId",)),
        RelationLink("Product", "OrderItem", ("productId",)),
    )


# --- Mermaid --------------------------------------------------------------------------------------------------------


def test_mermaid_joins_entities_by_how_many_there_are() -> None:
    text = mermaid_relations(designed(WITH_COPY)[0])
    assert '    e1 ||--o{ e3 : "userId"' in text.splitlines()


def test_mermaid_draws_each_pattern_to_where_it_goes() -> None:
    text = mermaid_routes(*designed(WITH_COPY))
    assert "    a2 -- Query --> s1" in text.splitlines()
    assert text.count("-->") >= len(designed(WITH_COPY)[0].patterns)


def test_mermaid_has_each_partition_once() -> None:
    workload, design = designed(WITH_COPY)
    text = mermaid_slot(workload, design, design.slots[0])
    assert text.count('[("USER#35;{userId}")]') == 1
    assert len(re.findall(r'p4 --> p4i\d\["User: ', text)) == 1
    assert '("User, guard of email: UNIQUE")' in text


def test_the_page_shows_each_picture_in_both_forms() -> None:
    workload, design = designed(WITH_COPY)
    page = render_pictures(workload, design)[PurePosixPath("pictures/README.md")]
    assert page.count("![") == page.count("```mermaid") == 5


def test_a_reference_of_several_attributes_is_one_line() -> None:
    workload = helpdesk()
    between = {(one.parent, one.child): one.via for one in links_of(workload)}
    assert between["Ticket", "Comment"] == ("tenantId", "ticketId")
    assert between["Agent", "Ticket"] == ("tenantId", "assigneeId")
    assert len(links_of(workload)) == len(between), "no two lines between the same two"
    sender = Attribute("from", references="Agent.agentId")
    message = Entity(
        "Message",
        attributes=(
            Attribute("tenantId", id=True, references="Tenant"),
            Attribute("messageId", id=True),
            sender,
            replace(sender, name="to"),
        ),
    )
    more = replace(workload, entities=(*workload.entities, message))
    mine = [one.via for one in links_of(more) if (one.parent, one.child) == ("Agent", "Message")]
    assert mine == [("tenantId", "from"), ("tenantId", "to")], "who sends and who gets it are two"
    part, who = (Attribute(f"from{name}", references=f"Agent.{name}Id") for name in ("tenant", "agent"))
    handover = Entity(
        "Handover",
        attributes=(
            Attribute("handoverId", id=True),
            *(part, who, replace(part, name="totenant"), replace(who, name="toagent")),
        ),
    )
    most = replace(workload, entities=(*workload.entities, handover))
    roles = [one.via for one in links_of(most) if (one.parent, one.child) == ("Agent", "Handover")]
    assert roles == [("fromtenant", "fromagent"), ("totenant", "toagent")], (
        "two agents of two tenants are two lines, not four"
    )


def test_items_that_patterns_keep_are_shown() -> None:
    content = "  - `subtitles` (string, optional, mutable, 2 MB)\n"
    text = KEPT.replace("  - `videoId` (uuid, generated)\n", f"  - `videoId` (uuid, generated)\n{content}")
    workload = read_text(text, "md").workload
    design = solve(workload).design
    rows = [row for partition in partitions_of(workload, design, design.slots[0]) for row in partition.rows]
    kept = {row.note: (*row.pk_templates, *row.sk_templates) for row in rows if row.note}
    assert kept == {
        "one of 4 shards of views": ("VIDEO#{videoId}#COUNTER#{shard}", "COUNTER#Video"),
        "earlier version": ("PAGE#{pageId}#PAGE#HISTORY", "{version}"),
        "part of subtitles": ("VIDEO#{videoId}", "~LARGE#Video#subtitles#{upload}#{part}"),
    }
    drawn = " ".join(seen(draw_slot(workload, design, design.slots[0])))
    text = mermaid_slot(workload, design, design.slots[0])
    for note in kept:
        assert note in drawn
        assert note in text
