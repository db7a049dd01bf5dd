"""Workloads at random: everything the model can say, in names and prose that people could write."""

from __future__ import annotations

from hypothesis import strategies as st
from msgspec.structs import replace

from prejoin.types import SCALARS, Kind, Type
from prejoin.workload.grammar.inputs import is_membership
from prejoin.workload.grammar.lexer import WORD
from prejoin.workload.model import (
    Absence,
    Accept,
    Action,
    AllOf,
    AnyOf,
    AtMost,
    Attribute,
    Cardinality,
    Change,
    ChangeOp,
    Combine,
    Comparison,
    Condition,
    Consistency,
    ContentPlace,
    Context,
    CounterShards,
    Decision,
    Direction,
    Entity,
    Experience,
    FixedKey,
    Follows,
    History,
    Input,
    ItemCollection,
    Leaf,
    Level,
    Minimise,
    Naming,
    Need,
    Negation,
    Op,
    OutOfScope,
    OwnTable,
    Per,
    Presence,
    Rate,
    Read,
    Relationship,
    RelationshipKind,
    Result,
    Section,
    SoftDelete,
    Sort,
    Spread,
    Stability,
    Stage,
    Status,
    Tenant,
    Test,
    Under,
    Uniqueness,
    Unproven,
    Value,
    Verb,
    Without,
    Workload,
    Write,
)
from prejoin.workload.tenants import expand

words = st.from_regex(r"[a-z][a-zA-Z0-9_]{0,8}", fullmatch=True)
odd = st.sampled_from(
    [
        "first name",
        "größe",
        "e-mail",
        "日付",
        "class",
        "filter",
        "last",
        "in",
        "per",
        "#x",
        "a|b",
        "x/y",
        "$id <b>",
        "a = b",
        "a, b",
    ]
)
names = words | odd
entity_names = st.from_regex(r"[A-Z][a-zA-Z0-9]{0,8}", fullmatch=True) | st.sampled_from(["Größe", "Class", "Über"])
# Text of one line, as it can stand in a cell or behind a dash.
lines = st.from_regex(r"[A-Za-zéß(][A-Za-z0-9 ,.;:!?()'\"é|%+=>-]{0,40}[a-z.)]", fullmatch=True)
texts = st.just("") | lines | st.builds(lambda a, b: f"{a}\n{b}", lines, lines)
prose = st.just("") | st.lists(
    lines.filter(lambda t: "|" not in t and not t.startswith("(") and "=" not in t and not t.strip().lower().startswith(("description", "attributes", "relationships", "cardinality", "size", "retention", "kept for", "history", "soft delete", "unique", "excludes", "owner", "lifecycle", "status"))),
    min_size=1,
    max_size=2,
).map("\n\n".join)  # fmt: skip
either = st.builds("{}.{} / {}.{}".format, entity_names, words, entity_names, words)
sizes = st.integers(1, 400_000)
counts = st.integers(0, 10**9)
bounds = st.integers(-(10**9), 10**9)

CONTENT = Type(Kind.CONTENT)
scalars = st.sampled_from([Type(k) for k in Kind if k in SCALARS and k is not Kind.ENUM])
enums = st.lists(
    words | st.sampled_from(["in-progress", "A B", 'say "x"', "1", "ÄÖ"]), min_size=1, max_size=4, unique=True
)
types = (
    scalars
    | enums.map(lambda values: Type(Kind.ENUM, values=tuple(values)))
    | st.sampled_from([Type(Kind.MAP), CONTENT])
    | st.builds(lambda of: Type(Kind.LIST, of=of), st.none() | scalars)
    | st.sampled_from([Type(Kind.SET), Type(Kind.SET, of=Type(Kind.STRING)), Type(Kind.SET, of=Type(Kind.NUMBER))])
)


defaults = words | st.sampled_from(
    ["", "0", "-1.5", "2024-01-15", "not yet", 'say "x"', "now", "default", "a,b", "(x)"]
)


followed = st.builds(
    Follows,
    st.builds("{}.{}".format, entity_names, words),
    st.just("") | words,
    st.none() | st.integers(0, 10**6),
)


@st.composite
def attributes(draw: st.DrawFn, name: str) -> Attribute:
    identifies = draw(st.booleans())
    references = draw(st.just("") | entity_names | st.builds("{}.{}".format, entity_names, words))
    type_ = draw(types)
    return Attribute(
        name,
        type_,
        identifies,
        draw(st.none() | st.booleans()) if identifies else None,
        draw(st.booleans()) or type_ == CONTENT,
        draw(st.none() | st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        references,
        draw(st.just("") | st.builds("{}.{}".format, entity_names, words)),
        draw(st.just("") | st.builds("{}.{}".format, entity_names, words)),
        draw(st.none() | sizes),
        draw(texts),
        draw(st.none() | defaults),
        min=draw(st.none() | bounds),
        max=draw(st.none() | bounds),
        references_or=tuple(draw(st.lists(entity_names, max_size=2))) if references else (),
        follows=draw(st.none() | followed),
        renamed_from=draw(st.just("") | words),
    )


@st.composite
def cardinalities(draw: st.DrawFn, entities: list[str]) -> Cardinality:
    count = draw(st.none() | counts | st.sampled_from([0.8, 2.5]))
    low = draw(st.none() | counts) if count is not None else None
    return Cardinality(
        count, draw(st.just("") | st.sampled_from(entities)), low, count is not None and draw(st.booleans())
    )


@st.composite
def relationships(draw: st.DrawFn, entities: list[str]) -> Relationship:
    kind = draw(st.sampled_from(RelationshipKind))
    left = draw(st.sampled_from(entities))
    right = left if kind is RelationshipKind.HIERARCHY else draw(st.sampled_from(entities))
    via = tuple(draw(st.lists(words, max_size=2)))
    return Relationship(left, kind, right, via, draw(st.just("") | words), draw(st.just("") | lines))


soft_deletes = st.builds(SoftDelete, words, st.none() | st.integers(0, 10**8), st.booleans())
histories = st.builds(History, st.none() | st.integers(0, 10**6), st.none() | st.integers(0, 10**8))


@st.composite
def entities(draw: st.DrawFn, name: str, all_names: list[str]) -> Entity:
    found = draw(st.lists(names, unique_by=str.lower, min_size=1, max_size=4))
    singleton = draw(st.booleans())
    return Entity(
        name=name,
        description=draw(prose),
        attributes=tuple(draw(attributes(n)) for n in found),
        relationships=tuple(draw(st.lists(relationships(all_names), max_size=2))),
        cardinality=() if singleton else tuple(draw(st.lists(cardinalities(all_names), max_size=2))),
        singleton=singleton,
        size=draw(st.none() | sizes),
        retention=draw(st.none() | st.integers(1, 10**8)),
        history=draw(st.none() | histories),
        soft_delete=draw(st.none() | soft_deletes),
        unique=tuple(draw(st.lists(st.lists(words, min_size=1, max_size=3).map(tuple), max_size=2))),
        excludes=tuple(draw(st.lists(entity_names, max_size=2))),
        owner=draw(st.just("") | words),
        lifecycle=draw(texts),
        verbatim=draw(st.dictionaries(st.sampled_from(["Colour", "Source system"]), lines, max_size=2)),
    )


def values(inputs: list[str] | None) -> st.SearchStrategy[Value]:
    constants = st.builds(
        lambda c: Value(const=c), words | lines | st.sampled_from(["1", "-2.5", "", "now", "2024-01-15"])
    )
    moments = st.builds(lambda n: Value(now=n), st.integers(-(10**7), 10**7))
    if not inputs:
        return constants | moments
    return constants | moments | st.builds(lambda p: Value(param=p), st.sampled_from(inputs))


@st.composite
def comparisons(draw: st.DrawFn, inputs: list[str] | None) -> tuple[Op, tuple[Value, ...]]:
    op = draw(st.sampled_from(Op))
    arity = draw(st.integers(1, 3)) if op is Op.IN else op.arity
    return op, tuple(draw(values(inputs)) for _ in range(arity))


@st.composite
def asked(draw: st.DrawFn) -> Input:
    op, found = draw(comparisons(None))
    if draw(st.booleans()):
        found = ()
    return Input(
        draw(names | st.builds("{}.{}".format, entity_names, words) | either),
        op,
        found,
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.booleans()),
        draw(st.none() | st.integers(1, 1000).map(lambda n: n / 10)),
    )


@st.composite
def alternative_inputs(draw: st.DrawFn) -> list[Input]:
    """Conditions of which one is enough."""
    filters = st.lists(asked().map(lambda one: replace(one, filter=True)), min_size=2, max_size=3)
    *others, last = draw(filters.filter(lambda found: not is_membership(found)))
    return [*(replace(one, either=True) for one in others), last]


positive = st.integers(1, 10**6).map(float) | st.integers(1, 10**6).map(lambda n: n / 1000)
rates = st.builds(
    lambda level, value, per, peak, weight, hottest: Rate(
        level, value, per if value is not None else Per.SECOND, peak, weight, *hottest
    ),
    st.none() | st.sampled_from(Level), st.none() | positive, st.sampled_from(Per), st.none() | positive, st.none() | positive,
    st.just((None, "")) | st.tuples(st.integers(1, 100).map(float), st.sampled_from(["", "userId", "first name"])),
).filter(lambda r: r != Rate())  # fmt: skip


def head(n: int) -> st.SearchStrategy[dict[str, object]]:
    return st.fixed_dictionaries({
        "id": st.just(f"AP-{n:03}"),
        "name": st.just("") | words,
        "description": texts,
        "rate": st.none() | rates,
        "verbatim": st.dictionaries(st.sampled_from(["Owner team", "Page"]), lines, max_size=1),
    })  # fmt: skip


@st.composite
def reads(draw: st.DrawFn, n: int, all_names: list[str]) -> Read:
    result = draw(st.none() | st.sampled_from(Result))
    page = draw(st.none() | st.integers(1, 999))
    return Read(
        **draw(head(n)),  # type: ignore[arg-type]
        entities=tuple(draw(st.lists(st.sampled_from(all_names), max_size=3))),
        inputs=tuple(
            one
            for group in draw(st.lists(asked().map(lambda one: [one]) | alternative_inputs(), max_size=3))
            for one in group
        ),
        result=result,
        needs=tuple(draw(st.lists(names, max_size=2))) if result else (),
        limit=draw(st.none() | st.integers(1, 999)) if result else None,
        sort=tuple(
            draw(
                st.lists(
                    st.builds(Sort, names.filter(lambda x: x != "by") | either, st.sampled_from(Direction)), max_size=2
                )
            )
        ),
        paginated=True if page else draw(st.none() | st.booleans()),
        page=page,
        consistency=draw(st.none() | st.sampled_from(Consistency)),
        combine=(combine := draw(st.none() | st.sampled_from(Combine))),
        via=draw(st.just("") | names) if combine is Combine.JOIN else "",
    )


@st.composite
def changed(draw: st.DrawFn, inputs: list[str]) -> Change:
    op = draw(st.sampled_from(ChangeOp))
    value = draw(values(inputs))
    if op is ChangeOp.REMOVE or (op in {ChangeOp.SET, ChangeOp.APPEND} and draw(st.booleans())):
        return Change(draw(names), op, optional=op is ChangeOp.SET and draw(st.booleans()))
    return Change(draw(names), op, value)


@st.composite
def leaves(draw: st.DrawFn, inputs: list[str]) -> Leaf:
    """A condition without parts."""
    kind = draw(st.sampled_from((Presence, Absence, Comparison)))
    entity = draw(st.just("") | entity_names)
    if kind is Comparison:
        op, found = draw(comparisons(inputs).filter(lambda c: bool(c[1])))
        return Comparison(entity=entity, attribute=draw(_checked_names), op=op, values=found)
    attribute = draw(_checked_names) if entity and draw(st.booleans()) else ""
    return kind(entity=entity, attribute=attribute)


_checked_names = words.filter(lambda word: word not in {"unique", "exists", "not", "must"})


def conditions(inputs: list[str], depth: int) -> st.SearchStrategy[Test]:
    """A condition, possibly with parts. `a and b` is one only as a part of another."""
    if not depth:
        return leaves(inputs)
    inner = conditions(inputs, depth - 1)
    several = st.lists(inner, min_size=2, max_size=3).map(tuple)
    together = several.filter(lambda parts: not any(isinstance(part, AllOf) for part in parts)).map(AllOf)
    return (
        leaves(inputs)
        | several.map(AnyOf)
        | inner.map(Negation)
        | st.builds(lambda all_, one: AnyOf((all_, one)), together, inner)
    )


@st.composite
def checks(draw: st.DrawFn, inputs: list[str]) -> Condition:
    if draw(st.booleans()):
        return draw(conditions(inputs, 2))
    return Uniqueness(draw(st.just("") | entity_names), draw(_checked_names))


@st.composite
def writes(draw: st.DrawFn, n: int, all_names: list[str]) -> Write:
    inputs = draw(st.lists(words, max_size=3, unique=True))
    act = st.builds(
        Action,
        st.sampled_from(Verb),
        st.sampled_from(all_names),
        st.booleans(),
        st.lists(changed(inputs), max_size=2).map(tuple),
        st.lists(words, max_size=2).map(tuple),
    )
    return Write(
        **draw(head(n)),  # type: ignore[arg-type]
        entities=tuple(draw(st.lists(st.sampled_from(all_names), max_size=2))),
        inputs=tuple(Input(i) for i in inputs),
        actions=tuple(draw(st.lists(act, max_size=3))),
        atomic=draw(st.none() | st.booleans()),
        checks=tuple(draw(st.lists(checks(inputs), max_size=2))),
    )


ids = st.integers(1, 40).map("AP-{:03}".format)
templates = st.sampled_from(["USER#{userId}", "ORDER#{placedAt}#{orderId:08d}", "PROFILE"])


def pins(all_names: list[str]) -> st.SearchStrategy[object]:
    known = st.sampled_from(all_names)
    what = st.sampled_from(["GSIs", "copies", "shards", "buckets", "structures"])
    return st.one_of(
        st.builds(Under, known, known),
        st.builds(AtMost, what.filter(lambda one: one != "buckets"), st.integers(0, 20)),
        st.just(AtMost("buckets", 0)),
        st.builds(Without, what, known),
        st.builds(Spread, known, st.sampled_from(["hour", "day", "month", "year"])),
        st.builds(Spread, known, shards=st.integers(1, 100)),
        st.builds(CounterShards, known, words, st.integers(1, 100)),
        st.builds(ContentPlace, known, words, st.booleans()),
        st.builds(FixedKey, known, templates, st.just("") | templates, st.just("") | words),
        st.builds(Minimise, st.sampled_from(["structures", "money"])),
        st.builds(Accept, ids, st.sampled_from(["filter", "several pages", "second request", "scan"])),
        st.builds(OutOfScope, ids),
        st.builds(Unproven, ids),
        st.builds(
            OwnTable,
            st.lists(known, min_size=1, max_size=3, unique=True).map(tuple),
            st.lists(st.sampled_from(list(Need)), min_size=1, unique=True).map(tuple),
        ),
        st.builds(Naming, st.sampled_from(["table", "partition key", "sort key"]), words),
    )


@st.composite
def tenants(draw: st.DrawFn, entities: list[str]) -> Tenant:
    exempt = draw(st.lists(st.sampled_from(entities), max_size=1))
    return Tenant(draw(names), draw(st.just("") | st.sampled_from(entities)), tuple(exempt))


contexts = st.builds(
    Context, st.none() | st.integers(1, 50), st.none() | st.sampled_from(Stage), st.none() | st.sampled_from(Stability),
    st.none() | st.integers(0, 100).map(float), st.none() | st.booleans(), st.none() | st.booleans(),
    st.none() | st.sampled_from(Experience), verbatim=st.dictionaries(st.sampled_from(["Region", "Budget"]), lines, max_size=1),
)  # fmt: skip


@st.composite
def workloads(draw: st.DrawFn) -> Workload:
    found = draw(st.lists(entity_names, min_size=1, max_size=3, unique_by=str.lower))
    plain = lines.filter(lambda t: " - " not in t)
    context = draw(st.none() | contexts)
    if context and draw(st.booleans()):
        context = replace(context, tenant=draw(tenants(found)))
    workload = Workload(
        title=draw(st.from_regex(r"[A-Z][a-z]{1,9}( [a-z]{1,5})?", fullmatch=True)),
        status=draw(st.none() | st.sampled_from(Status)),
        overview=draw(prose),
        context=context,
        entities=tuple(draw(entities(n, found)) for n in found),
        reads=tuple(draw(reads(n, found)) for n in range(draw(st.integers(0, 3)))),
        writes=tuple(draw(writes(20 + n, found)) for n in range(draw(st.integers(0, 2)))),
        deletes=tuple(draw(writes(30 + n, found)) for n in range(draw(st.integers(0, 1)))),
        collections=tuple(draw(st.lists(st.builds(ItemCollection, words, st.just(tuple(found)), st.lists(ids, max_size=2).map(tuple), texts), max_size=1))),
        decisions=tuple(draw(st.lists(st.builds(Decision, pins(found), st.just("") | lines) | st.builds(lambda t: Decision(text=t), plain), max_size=3))),
        notes=draw(prose),
        header=draw(st.dictionaries(st.sampled_from(["Application", "Generated on"]), words, max_size=2)),
        sections=tuple(draw(st.lists(st.builds(Section, st.just("Glossary"), prose, st.sampled_from(["", "Entities", "Notes", "Reads"])), max_size=1))),
    )  # fmt: skip
    return expand(workload)  # as it is whenever it was read


assert WORD.match("plain")
