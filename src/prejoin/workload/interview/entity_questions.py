"""Questions about stored data: the application, its entities, ids, attributes and relationships."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from prejoin.workload.grammar.attributes import write_attribute
from prejoin.workload.grammar.lexer import CellTokens, Inexact, read_names, write_name
from prejoin.workload.grammar.quantities import read_cardinality, write_cardinality
from prejoin.workload.grammar.statements import RELATIONSHIP_FIX, read_relationship, write_relationship
from prejoin.workload.interview.step import (
    HELP,
    NONE,
    InterviewStep,
    Question,
    StepKind,
    Taken,
    put_entity,
    read_attributes,
    yes,
)
from prejoin.workload.model import Attribute, Entity, Relationship, RelationshipKind, Workload
from prejoin.workload.stubs import one, parents, plural

ENTITIES, RELATIONSHIPS = "entities", "relationships"


def front() -> Iterator[InterviewStep]:
    def title(w: Workload) -> Question:
        return Question("title", "What is the application called?", HELP["title"], w.title or None)

    def overview(w: Workload) -> Question:
        return Question("overview", "What is it for? A sentence or two.", HELP["overview"], w.overview or NONE)

    yield InterviewStep(
        "title", StepKind.FIELD, title, lambda w, t: (replace(w, title=t), None), lambda w: not w.title, required=True
    )
    yield InterviewStep(
        "overview",
        StepKind.FIELD,
        overview,
        lambda w, t: (replace(w, overview="" if t == NONE else t), None),
        lambda w: not w.overview,
    )


# --- Which entities there are ---------------------------------------------------------------------------------------


def entities() -> InterviewStep:
    def ask(w: Workload) -> Question:
        names = tuple(e.name for e in w.entities)
        words = "What else does it store?" if names else "What does it store? Name the entities, such as `User, Order`."
        return Question(ENTITIES, words, HELP["entities"], "done" if names else None, names, several=True)

    return InterviewStep(ENTITIES, StepKind.LIST, ask, _take_entities, lambda w: not w.entities, required=True)


def _take_entities(w: Workload, text: str) -> Taken:
    if (name := _removal(text)) is not None:
        _expect(name, [e.name for e in w.entities], "entity")
        return replace(w, entities=tuple(e for e in w.entities if e.name != name)), ENTITIES
    entities = list(w.entities)
    for name in read_names(text):
        if "." in name:
            raise Inexact(f"`{name}` is not the name of an entity", "write a plain word, such as `Order`")
        if any(e.name.lower() == name.lower() for e in entities):
            raise Inexact(f"`{name}` is there already", "name another one, or `done`")
        entities.append(Entity(name))
    return replace(w, entities=tuple(entities)), ENTITIES


def _removal(text: str) -> str | None:
    tokens = CellTokens(text)
    if tokens.word("remove") and not tokens.done:
        name = tokens.name("what to remove")
        tokens.expect_end("remove one at a time")
        return name
    return None


def _expect(name: str, known_names: list[str], noun: str) -> None:
    if name not in known_names:
        raise Inexact(f"there is no {noun} `{name}`", f"there is {', '.join(known_names) or 'none yet'}")


# --- One entity -----------------------------------------------------------------------------------------------------


def about(w: Workload, entity: Entity) -> Iterator[InterviewStep]:
    name = entity.name
    yield InterviewStep(
        f"id of {name}",
        StepKind.FIELD,
        partial(_ask_id, name),
        partial(_take_id, name),
        lambda w: not _require_entity(w, name).id and not _require_entity(w, name).singleton,
        unit=name,
        required=True,
    )
    yield InterviewStep(
        f"attributes of {name}",
        StepKind.LIST,
        partial(_ask_attributes, name),
        partial(_take_attributes, name),
        lambda w: False,
        unit=name,
    )
    for other, attribute in _likely_references(w, entity):
        yield InterviewStep(
            f"reference {name}.{attribute.name}",
            StepKind.PROBE,
            partial(_ask_reference, name, attribute.name, other.name),
            partial(_take_reference, name, attribute.name, other.name),
            lambda w, is_given=bool(attribute.references): not is_given,  # type: ignore[misc]
            unit=name,
        )


def _require_entity(w: Workload, name: str) -> Entity:
    entity = w.entity(name)
    assert entity is not None
    return entity


def _ask_id(name: str, w: Workload) -> Question:
    entity = _require_entity(w, name)
    default = ", ".join(write_attribute(a) for a in entity.id) or f"`{name[:1].lower()}{name[1:]}Id` (uuid, generated)"
    return Question(f"id of {name}", f"What identifies one {name}?", HELP["id"], default, choices=("singleton",))


def _take_id(name: str, w: Workload, text: str) -> Taken:
    entity = _require_entity(w, name)
    if text.strip().lower() == "singleton":
        attributes = tuple(replace(a, id=False, generated=None) for a in entity.attributes)
        return put_entity(w, replace(entity, attributes=attributes, singleton=True, cardinality=())), None
    id_attributes = tuple(a if a.id else replace(a, id=True) for a in read_attributes(text))
    names = {a.name for a in id_attributes}
    other_attributes = tuple(a for a in entity.attributes if not a.id and a.name not in names)
    return put_entity(w, replace(entity, attributes=(*id_attributes, *other_attributes), singleton=False)), None


def _ask_attributes(name: str, w: Workload) -> Question:
    entity = _require_entity(w, name)
    attribute_lines = tuple(write_attribute(a) for a in entity.attributes)
    words = f"What is known about one {name}? Such as `email (string, unique)`."
    if len(attribute_lines) > len(entity.id):
        words = f"What else is known about one {name}?"
    return Question(f"attributes of {name}", words, HELP["attributes"], "done", attribute_lines, several=True)


def _take_attributes(name: str, w: Workload, text: str) -> Taken:
    entity = _require_entity(w, name)
    attributes = {a.name: a for a in entity.attributes}
    if (removed_name := _removal(text)) is not None:
        _expect(removed_name, list(attributes), "attribute")
        del attributes[removed_name]
    else:
        for attribute in read_attributes(text):
            earlier = attributes.get(attribute.name)
            if earlier is not None and earlier.id and not attribute.id:
                attribute = replace(attribute, id=True, generated=earlier.generated)
            attributes[attribute.name] = attribute
    return put_entity(w, replace(entity, attributes=tuple(attributes.values()))), f"attributes of {name}"


def _likely_references(w: Workload, entity: Entity) -> list[tuple[Entity, Attribute]]:
    """Attributes with the name of another entity's id, which are probably references."""
    ids = {e.id[0].name: e for e in w.entities if len(e.id) == 1 and e.name != entity.name}
    own = entity.id_names
    return [(ids[a.name], a) for a in entity.attributes if a.name in ids and not a.repeats and own != (a.name,)]


def _ask_reference(name: str, attribute: str, other: str, w: Workload) -> Question:
    words = f"Is `{attribute}` of {name} the id of {one(other)}?"
    return Question(f"reference {name}.{attribute}", words, HELP["reference"], "yes", choices=("yes", "no"))


def _take_reference(name: str, attribute: str, other: str, w: Workload, text: str) -> Taken:
    if not yes(text):
        return w, None
    entity = _require_entity(w, name)
    attributes = tuple(replace(a, references=other) if a.name == attribute else a for a in entity.attributes)
    return put_entity(w, replace(entity, attributes=attributes)), None


# --- How they relate ------------------------------------------------------------------------------------------------


def relationships() -> InterviewStep:
    def ask(w: Workload) -> Question:
        relationship_lines = tuple(write_relationship(r) for e in w.entities for r in e.relationships) + tuple(
            _implied_relationships(w)
        )
        return Question(
            RELATIONSHIPS, "How do they relate?", HELP["relationships"], "done", relationship_lines, several=True
        )

    return InterviewStep(RELATIONSHIPS, StepKind.LIST, ask, _take_relationship, lambda w: False)


def _implied_relationships(w: Workload) -> Iterator[str]:
    stated_references = {(r.right, via) for e in w.entities for r in e.relationships for via in r.via}
    for entity in w.entities:
        for parent, attribute in parents(w, entity):
            if (entity.name, attribute.name) not in stated_references:
                yield f"{write_name(entity.name)} refers to {write_name(parent.name)} by {write_name(attribute.name)}"


def _take_relationship(w: Workload, text: str) -> Taken:
    relationship = read_relationship(text)
    names = [e.name for e in w.entities]
    for name in (relationship.left, relationship.right):
        _expect(name, names, "entity")
    if relationship.kind is not RelationshipKind.MANY_TO_MANY:
        w, relationship = _connect(w, relationship)
    left = _require_entity(w, relationship.left)
    other_relationships = [
        r
        for r in left.relationships
        if (r.right, r.kind, r.via) != (relationship.right, relationship.kind, relationship.via)
    ]
    return put_entity(w, replace(left, relationships=(*other_relationships, relationship))), RELATIONSHIPS


def _connect(w: Workload, r: Relationship) -> tuple[Workload, Relationship]:
    """Make sure that the right side has an attribute with a reference to the left side."""
    left, right = _require_entity(w, r.left), _require_entity(w, r.right)
    is_hierarchy = r.kind is RelationshipKind.HIERARCHY or left is right
    via = r.via or _find_via(w, left, right, is_hierarchy)
    if len(via) == 1 and len(left.id) == 1 and "." not in via[0]:
        existing = right.attribute(via[0])
        new_attribute = Attribute(via[0], left.id[0].type, optional=is_hierarchy)
        if existing is None and (left_attribute := left.attribute(via[0])) and not left_attribute.id:
            return w, replace(r, via=via)
        referring_attribute = replace(
            existing or new_attribute, references=(existing.references if existing else "") or left.name
        )
        attributes = tuple(referring_attribute if a.name == referring_attribute.name else a for a in right.attributes)
        w = put_entity(w, replace(right, attributes=attributes if existing else (*attributes, referring_attribute)))
    return w, replace(r, via=via)


def _find_via(w: Workload, left: Entity, right: Entity, is_hierarchy: bool) -> tuple[str, ...]:
    """The attributes of the right side that hold the left side's id. Raises `Inexact` if several could."""
    referring_names = [a.name for parent, a in parents(w, right) if parent.name == left.name]
    if len(referring_names) == 1:
        return (referring_names[0],)
    shared_names = [a.name for a in left.id if right.attribute(a.name)]
    if shared_names and not is_hierarchy:
        return tuple(shared_names)
    if referring_names or is_hierarchy or len(left.id) != 1:
        message = f"it is not said which attribute of `{right.name}` holds the id of `{left.name}`"
        raise Inexact(message, RELATIONSHIP_FIX)
    return (left.id[0].name,)


# --- How many there are ---------------------------------------------------------------------------------------------


def figures(w: Workload) -> Iterator[InterviewStep]:
    for entity in w.entities:
        if not entity.singleton:
            yield InterviewStep(
                f"cardinality of {entity.name}",
                StepKind.FIELD,
                partial(_ask_cardinality, entity.name),
                partial(_take_cardinality, entity.name),
                lambda w, name=entity.name: not _require_entity(w, name).cardinality,  # type: ignore[misc]
                required=True,
                figure=True,
            )


def _ask_cardinality(name: str, w: Workload) -> Question:
    entity = _require_entity(w, name)
    default = write_cardinality(False, entity.cardinality) or NONE
    parent = next((p.name for p, _ in parents(w, entity)), "")
    example = f"`~100 per {write_name(parent)}, 1M total`" if parent else "`10K total`"
    return Question(
        f"cardinality of {name}",
        f"How many {plural(name)} will there be? Such as {example}.",
        HELP["cardinality"],
        default,
    )


def _take_cardinality(name: str, w: Workload, text: str) -> Taken:
    singleton, cardinality = (False, ()) if text == NONE else read_cardinality(text)
    if singleton:
        raise Inexact(f"`{name}` has an id, so there are several", "write how many, or `-`")
    return put_entity(w, replace(_require_entity(w, name), cardinality=cardinality)), None
