"""Designs at random: whatever the model can say, in names and texts that nobody should choose."""

from __future__ import annotations

from hypothesis import strategies as st

from prejoin.design.document.annotations import Annotations, Validation
from prejoin.design.model import (
    TABLE,
    Billing,
    Choice,
    Design,
    Facet,
    Guard,
    Item,
    KeyAttribute,
    Projection,
    ProjectionKind,
    Slot,
    When,
)
from prejoin.workload.model import Section, Status

HOSTILE = [
    "|", "`", "``", "\\", "\\|", "\n", "<br>", "<BR/>", "-", "—", "none", "#", "**x**", "**x**: y", '"', '"a"', "`\"a\"`", " ",
    "\t", "é", "日付", "\u2028", "\x85", "\x00", "\x7f", "\ud800", "a, b", "a and b", "x is `y`", "(copy z)", " / ", "{id}",
    "USER#{id}", "1. a", "- a", "> q", "```", "<!--", "&amp;", "table", "Table", "[]", "N/A", "Instead: x", ":", "a:", "\ufeff",
]  # fmt: skip
texts = st.text(max_size=12) | st.lists(st.sampled_from(HOSTILE) | st.text(max_size=3), max_size=4).map("".join)
some = texts.filter(bool)
plain = st.from_regex(r"[A-Z][a-zA-Z0-9]{0,8}", fullmatch=True)
names = plain | some
many = st.lists(names, max_size=3).map(tuple)
key_attributes = st.builds(KeyAttribute, some, st.sampled_from("SNB"))
whens = st.builds(When, names, st.lists(texts, max_size=2).map(tuple))
lines = st.from_regex(r"[A-Za-z][A-Za-z0-9 ,.;!?()'é|%+-]{0,40}[a-z.]", fullmatch=True)


@st.composite
def designs(draw: st.DrawFn) -> Design:
    indexes = draw(st.lists(names.filter(lambda n: n != TABLE), unique=True, max_size=2))
    keys = st.lists(key_attributes, max_size=2).map(tuple)
    projections = st.builds(Projection, st.sampled_from(ProjectionKind), many)
    slots = [Slot(TABLE, draw(keys), draw(keys), purpose=draw(texts))]
    slots += [Slot(n, draw(keys), draw(keys), draw(projections), draw(texts), draw(st.booleans())) for n in indexes]
    facets = st.builds(
        Facet,
        st.sampled_from([TABLE, *indexes]) | names,
        st.lists(texts, max_size=2).map(tuple),
        st.lists(texts, max_size=2).map(tuple),
        st.lists(whens, max_size=2).map(tuple),
    )
    stored = draw(st.lists(st.tuples(names, st.just("") | some), unique=True, min_size=1, max_size=3))
    return Design(
        table=draw(texts),
        slots=tuple(slots),
        items=tuple(Item(e, draw(texts), tuple(draw(st.lists(facets, max_size=3))), c, draw(many)) for e, c in stored),
        guards=tuple(draw(st.lists(st.builds(Guard, texts, many), max_size=2))),
        type_attribute=draw(texts),
        separator=draw(st.sampled_from("#|`-_\"'") | texts),
        raw_keys=draw(st.booleans()),
        ttl_attribute=draw(texts),
        billing=draw(st.sampled_from(Billing)),
        decisions=tuple(
            draw(st.lists(st.builds(Choice, texts, texts, st.lists(texts, max_size=2).map(tuple)), max_size=3))
        ),
    )


kept = st.builds(
    Annotations,
    title=lines,
    status=st.sampled_from(Status),
    source=st.just("access-patterns.md"),
    keeps=st.sampled_from(["", "../v1/table-design.md"]),
    header=st.dictionaries(st.sampled_from(["Reviewed by", "Generated on"]), plain, max_size=2),
    settings=st.dictionaries(st.sampled_from(["Region", "Point-in-time recovery"]), lines.filter(lambda t: "|" not in t), max_size=2),
    prose=st.dictionaries(st.sampled_from(["front", "Keys", "Table Configuration", "Design Decisions"]), lines.filter(lambda t: "|" not in t), max_size=2),
    sections=st.lists(
        st.builds(Section, st.just("Glossary"), lines.filter(lambda t: "|" not in t), st.sampled_from(["", "Keys", "Validation"])),
        max_size=1,
    ).map(tuple),
    validation=st.lists(st.builds(Validation, texts, texts, texts), max_size=2).map(tuple),
)  # fmt: skip
