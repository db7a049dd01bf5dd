"""What `clean` removes at the end of a change, by type tags and attributes, and what stays in the table.

Items that are made from others, which are copies and guards of unique values, are deleted if NEW does not have them.
All other items are originals: items of an entity that NEW does not have, versions in a history, parts of contents and
shards of counters. They stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prejoin.keys import TABLE
from prejoin.migrate.evolve.counter_work import counter_kinds
from prejoin.migrate.evolve.transition import CodeVersion, Transition
from prejoin.patterns.copies import CopyPattern
from prejoin.patterns.twin_mark import MARK
from prejoin.patterns.unique import UniquePattern
from prejoin.table.schema.bind import BoundEntity, facet_tag


def leftover_tags(transition: Transition) -> frozenset[str]:
    """The type tags of copies and guards that only versions before NEW have, of entities that NEW has, too."""
    tags: set[str] = set()
    for _, entity in _entities_in_new(transition):
        patterns = [pattern for pattern in entity.patterns if isinstance(pattern, CopyPattern | UniquePattern)]
        tags.update(facet_tag(facet) for pattern in patterns for facet in pattern.facets if facet.slot == TABLE)
    # An item of an entity is an original, whatever else has its type tag. A twin is deleted beside its other item.
    originals = {tag for version in (*_before(transition), transition.new) for tag in version.package.schema.by_tag}
    return frozenset(tags - originals - _tags(transition.new))


def leftover_attributes(transition: Transition) -> frozenset[str]:
    """The key attributes and marks that only versions before NEW have, of entities that NEW has, too."""
    new = transition.new.package.schema
    needed_names = {name for facet in new.facets for name in new.keys(facet.slot).names}
    needed_names |= {attribute.wire for entity in new.entities for attribute in entity.codec.attributes.values()}
    stale: set[str] = set()
    for version, entity in _entities_in_new(transition):
        schema = version.package.schema
        for facet in entity.facets:
            if facet.slot != TABLE:
                stale.update(schema.template_keys(facet).names)
    marks = {MARK} if transition.moved else set()
    marks |= {mark for kind in counter_kinds(transition) for mark in kind.marks}
    return frozenset(stale - needed_names) | marks


def _before(transition: Transition) -> tuple[CodeVersion, ...]:
    return transition.old, transition.prepare, transition.switch


def _tags(version: CodeVersion) -> set[str]:
    return {facet_tag(facet) for facet in version.package.schema.facets}


def _entities_in_new(transition: Transition) -> Iterator[tuple[CodeVersion, BoundEntity[Any]]]:
    """The entities of the versions before NEW that NEW has, too."""
    for version in _before(transition):
        package = version.package
        for entity, cls in package.classes.items():
            if transition.new.design.item(entity) is not None and version.design.item(entity) is not None:
                yield version, package.schema.entity(cls)
