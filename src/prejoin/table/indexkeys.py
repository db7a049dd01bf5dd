"""The keys of indexes after an update: set anew, removed, or the update refused. Never stale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from prejoin.keys import Facet, Template

from .errors import UnknownValue
from .expressions import Arithmetic
from .schema import Schema
from .writes import Write


def index_changes(schema: Schema, write: Write) -> tuple[dict[str, str], tuple[str, ...]]:
    """For an update, the key attributes of indexes to set, and those to remove."""
    sets: dict[str, str] = {}
    removes: list[str] = []
    after = write.changes.after(write.values)
    for slot, facet in write.entity.indexes.items():
        member = {when.attribute for when in facet.when}
        if not write.changes.names & ({*facet.attributes} | member):
            continue
        pk, sk = schema.physical(slot)
        # Where not every item is in the index, an item enters or stays with both keys or with none.
        whole = bool(facet.when)
        touched = [facet.pk] if whole or write.changes.names & set(facet.pk.attributes) else []
        if facet.sk and (whole or write.changes.names & set(facet.sk.attributes)):
            touched.append(facet.sk)
        _check(write, facet, touched, member, after)
        if facet.has(after):
            if facet.pk in touched:
                sets[pk] = facet.pk_of(after)
            if facet.sk in touched and sk:
                sets[sk] = facet.sk_of(after) or ""
        else:
            removes += [pk, sk] if sk else [pk]
    return sets, tuple(removes)


def _check(write: Write, facet: Facet, templates: list[Template], member: set[str], after: Mapping[str, Any]) -> None:
    names = [name for template in templates for name in template.attributes] + sorted(member)
    for name in names:
        if name in write.changes.adds or isinstance(write.changes.sets.get(name), Arithmetic):
            raise UnknownValue(
                f"{name} is part of the key of {write.entity.tag} in {facet.slot} and cannot be changed by an amount, "
                "for its new value is not known: set it to a value"
            )
    write.need(names, after, f"its key in {facet.slot} ({facet.pk}{f' / {facet.sk}' if facet.sk else ''})")
