"""Entities as proposals, written with the items that they are about and read before them.

- An item for each word of a text or each member of a set, for a read by one of them.
- A feed: for each reader of a new item, an item in the order that the reader asks for.
- A lookup item: the id under a unique value, which it also keeps unique.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by
from prejoin.design.phrases import amount
from prejoin.design.solver.needs import writes_to
from prejoin.design.whatif.change import Change
from prejoin.design.whatif.edits import (
    actions_on,
    changed_writes,
    changes_later,
    id_part,
    only_entity,
    reference_to,
    with_steps,
)
from prejoin.types import STRING, Kind
from prejoin.workload.checks.reporter import name_list
from prejoin.workload.lookup import bare_name, gives_object, root, target, unique_groups
from prejoin.workload.model import (
    Action,
    Attribute,
    Cardinality,
    Combine,
    Entity,
    Input,
    Op,
    Read,
    Result,
    Uniqueness,
    Verb,
    Workload,
    Write,
)
from prejoin.workload.program.resolved_read import Role, resolve_read

WORDS = 10
"""Words of a text, if an index of words is proposed."""
MEMBERS = 3
"""Members of a set or a list."""


# --- Words and members ----------------------------------------------------------------------------------------------


def word_changes(workload: Workload, read: Read) -> Iterator[Change]:
    """An item for each word of a text, or each member of a set, under the word."""
    entity = only_entity(workload, read)
    condition = next((condition for condition in read.inputs if condition.op is Op.CONTAINS), None)
    attribute = entity.attribute(bare_name(condition.attribute)) if entity and condition else None
    if entity is None or attribute is None or not entity.id or entity.attribute("word"):
        return
    # A text has many words that nobody counts; a set has its members.
    is_text = attribute.type.kind not in (Kind.SET, Kind.LIST)
    suffix = "Word" if is_text else attribute.name[:1].upper() + attribute.name[1:].removesuffix("s")
    number = WORDS if is_text else MEMBERS
    # The item of a word repeats the attributes of the other conditions, so they are answered before the join.
    other_conditions = resolve_read(workload, read).having(Role.EQUAL, Role.RANGE, Role.MEMBERSHIP)
    index = Entity(
        f"{entity.name}{suffix}",
        attributes=_word_attributes(workload, entity, read, [clause.name for clause in other_conditions]),
        cardinality=(Cardinality(number, entity.name),),
        size=200,
    )
    if workload.entity(index.name):
        return
    inputs = (Input("word"), *(clause.input for clause in other_conditions))
    entities = (index.name, entity.name)
    # The text itself is read by the ids that the words find.
    join = replace(read, entities=entities, inputs=inputs, combine=Combine.JOIN, via="", needs=())
    summary = f"an item for each {'word' if is_text else 'member'}, about {number} for each {entity.name}"
    yield _created_with(workload, entity, index, join, summary, atomic=True)


def _word_attributes(workload: Workload, entity: Entity, read: Read, conditions: list[str]) -> tuple[Attribute, ...]:
    """The attributes of a word: itself, what the read is sorted by if that never changes, the id, and conditions."""
    ids = [id_part(reference_to(entity, part)) for part in entity.id]
    sorts = [bare_name(sort.attribute) for sort in read.sort]
    order, further = [], []
    for name in dict.fromkeys((*conditions, *sorts)):
        attribute = entity.attribute(name)
        if attribute is None or attribute.id:
            continue
        if name in sorts and not attribute.optional and not changes_later(workload, entity, attribute):
            order.append(id_part(attribute))
        else:
            further.append(replace(attribute, unique=False))
    return (Attribute("word", STRING, id=True, generated=False), *order, *ids, *further)


# --- Feeds ----------------------------------------------------------------------------------------------------------


def feed_changes(workload: Workload, read: Read) -> Iterator[Change]:
    """A feed: what is read is written in advance, once for each reader."""
    # For example, the posts of the users that one follows: a join of `Follow` and `Post`, by the follower.
    if len(read.entities) != 2 or read.combine is None or len(read.inputs) != 1:
        return
    follow, post = map(workload.entity, read.entities)
    if follow is None or post is None or not post.id:
        return
    reader = follow.attribute(bare_name(read.inputs[0].attribute))
    followed_names = _followed_attributes(workload, follow, post, reader)
    if reader is None or len(followed_names) != 1 or workload.entity(f"{post.name}Feed"):
        return
    order = _order_of_feed(post, read)
    if not _are_fixed(workload, post, order):
        return
    if reader.name in [attribute.name for attribute in (*post.id, *order)]:
        return  # the reader is the parent of what it reads: nothing is followed
    readers = round(count_by(workload, follow, followed_names))
    feed = _feed_of(post, reader, order, readers)
    sort = tuple([replace(part, attribute=bare_name(part.attribute)) for part in read.sort])
    via = post.id[0].name
    join = replace(read, entities=(feed.name, post.name), combine=Combine.JOIN, via=via, sort=sort)
    summary = f"a feed, written for each of about {amount(readers)} readers when a {post.name} is created"
    yield _created_with(workload, post, feed, join, summary, atomic=False)


def _order_of_feed(post: Entity, read: Read) -> list[Attribute]:
    """What a feed is sorted by beside the id.

    It is part of the feed's id, so it never changes, and the key of the table is in this order.
    """
    attributes = [post.attribute(bare_name(sort.attribute)) for sort in read.sort]
    return [attribute for attribute in filter(None, attributes) if not attribute.id]


def _feed_of(post: Entity, reader: Attribute, order: Iterable[Attribute], readers: int) -> Entity:
    """The items under each reader: the reader, the order, and a reference to a post."""
    posts = [id_part(reference_to(post, part)) for part in post.id]
    return Entity(
        f"{post.name}Feed",
        attributes=(replace(reader, id=True, generated=None), *map(id_part, order), *posts),
        cardinality=(Cardinality(readers, post.name),),
        size=200,
    )


def _followed_attributes(workload: Workload, follow: Entity, post: Entity, reader: Attribute | None) -> list[str]:
    """The attributes of a Follow that say whose posts are meant; none if one says which post."""
    names = []
    for attribute in follow.attributes:
        # An item that refers to one post is a bookmark, not a subscription.
        if target(workload, attribute) == (post, post.id[0]):
            return []
        if attribute is not reader and attribute.references:
            source = root(workload, follow, attribute)
            names += [attribute.name for other in post.attributes if root(workload, post, other) == source]
    return names


def _created_with(
    workload: Workload, entity: Entity, companion: Entity, join: Read, summary: str, *, atomic: bool
) -> Change:
    """A new entity of which several items are created with each item of another one, and a read that begins there."""

    def create_both(write: Write) -> Write:
        is_created = any(action.verb is Verb.CREATE and not action.many for action in actions_on(write, entity))
        steps = [Action(Verb.CREATE, companion.name, many=True)]
        return with_steps(write, steps, atomic=atomic) if is_created else write

    writes = changed_writes(workload, create_both)
    return Change(summary, entities=(companion,), patterns=(join, *writes))


# --- Lookup items ---------------------------------------------------------------------------------------------------


def lookup_changes(workload: Workload, read: Read) -> Iterator[Change]:
    """An entity that holds the id for a unique value: it is the guard, and it is read first."""
    entity = only_entity(workload, read)
    group = _unique_value(workload, entity, read) if entity else ()
    if entity is None or not group or not _is_followed_easily(workload, entity):
        return
    values = [attribute for attribute in entity.attributes if attribute.name in group]
    names = [attribute.name for attribute in values if not attribute.id]
    lookup = Entity(
        "".join((entity.name, *(name[:1].upper() + name[1:] for name in names))),
        attributes=(
            *(value if value.id else replace(id_part(value), generated=False) for value in values),
            *(reference_to(entity, part) for part in entity.id if part.name not in group),
        ),
        cardinality=(Cardinality(1, entity.name),),
        size=150,
    )
    if workload.entity(lookup.name):
        return
    writes = changed_writes(workload, lambda write: _with_lookup(write, entity, group, lookup))
    entities = (lookup.name, entity.name)
    join = replace(read, entities=entities, combine=Combine.JOIN, result=Result.MANY)
    summary = (
        f"if {read.id} reads an item by {name_list(names)}, which also keeps it unique, and then the {entity.name}"
    )
    yield Change(summary, entities=(_without_unique(entity, group), lookup), patterns=(join, *writes))


def _unique_value(workload: Workload, entity: Entity, read: Read) -> tuple[str, ...]:
    """The attributes by which a read finds one item, if they are unique together, always there and never changed."""
    names = tuple(bare_name(condition.attribute) for condition in read.inputs)
    groups = [set(group) for group in unique_groups(entity)]
    if read.result is not Result.ONE or not entity.id or set(names) not in groups:
        return ()
    attributes = filter(None, map(entity.attribute, names))
    values = [attribute for attribute in attributes if not attribute.id]
    is_usable = all(map(_is_given_by_caller, read.inputs)) and _are_fixed(workload, entity, values)
    return names if is_usable else ()


def _are_fixed(workload: Workload, entity: Entity, attributes: Iterable[Attribute]) -> bool:
    """Whether every item has some attributes, and no update changes them."""
    return not any(attribute.optional or changes_later(workload, entity, attribute) for attribute in attributes)


def _is_given_by_caller(condition: Input) -> bool:
    """Whether an input is an equality with one value from the caller, and no filter."""
    is_one_value = condition.op is Op.EQ and not condition.values and not condition.many
    return is_one_value and not condition.filter and not condition.optional


def _is_followed_easily(workload: Workload, entity: Entity) -> bool:
    """Whether items are only created, updated and deleted, one by one: then another item can follow them."""
    for write in writes_to(workload, entity):
        for action in actions_on(write, entity):
            if action.many or action.verb not in (Verb.CREATE, Verb.UPDATE, Verb.DELETE):
                return False
    return True


def _without_unique(entity: Entity, group: tuple[str, ...]) -> Entity:
    """An entity whose value another item keeps unique."""
    attributes = tuple(
        replace(attribute, unique=False) if {attribute.name} == set(group) else attribute
        for attribute in entity.attributes
    )
    unique = tuple(names for names in entity.unique if set(names) != set(group))
    return replace(entity, attributes=attributes, unique=unique)


def _with_lookup(write: Write, entity: Entity, group: tuple[str, ...], lookup: Entity) -> Write:
    """A write that creates or deletes an item together with its lookup item."""
    actions = actions_on(write, entity)
    if not actions:
        return write
    # The lookup item keeps the value unique, by its own key.
    checks = [check for check in write.checks if not (isinstance(check, Uniqueness) and check.attribute in group)]
    write = replace(write, checks=tuple(checks))
    if actions[0].verb is Verb.UPDATE:
        return write
    names = [argument.attribute for argument in write.inputs]
    # The key of the lookup item is the value, so its delete has to know it.
    missing = [] if gives_object(write, entity) else [Input(name) for name in group if name not in names]
    following = with_steps(write, [Action(actions[0].verb, lookup.name)])
    return replace(following, inputs=(*write.inputs, *missing))
