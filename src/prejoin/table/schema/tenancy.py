"""Tenants of one table: their keys begin with the tenant, so that nothing a client of one tenant sends leaves it."""

from __future__ import annotations

import copy
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import msgspec

from prejoin.keys import TABLE, AttributeRole, Facet, KeyField, KeyText, KeyValueError, Natural, Template
from prejoin.keys.template.encoding import Encoding, plain
from prejoin.keys.template.shape import ANYTHING, Shape, literal, meet
from prejoin.table.conversation import Request
from prejoin.table.errors import CursorError, OtherTenant, SchemaError

from .key_attributes import wire

if TYPE_CHECKING:
    from .bind import Bound
    from .schema import Schema


class Head(msgspec.Struct, frozen=True):
    """What a partition key begins with: text, the tenant, and then a separator or the end."""

    lead: str
    encoding: Encoding
    whole: bool
    """Whether the tenant is all of the key."""
    natural: bool = False
    """Whether the key is the attribute itself."""
    several: bool = False
    """Whether the tenant is the first of several attributes that are the partition key of an index."""

    def shape(self, separator: str) -> Shape:
        """Of all keys that begin so."""
        rest = () if self.whole else literal(separator) + ANYTHING
        return literal(self.lead) + self.encoding.shape + rest

    def start(self, value: object, separator: str) -> dict[str, str]:
        """What the keys of one tenant begin with, or are, in DynamoDB JSON."""
        found = self.encoding.encode(value)
        if found in ("", b""):
            raise KeyValueError(f"{value!r} is nobody: a tenant has a name")
        return wire(found if self.natural else f"{self.lead}{found}{'' if self.whole else separator}")


class Tenancy(msgspec.Struct, frozen=True):
    """Which attribute is the tenant, and where it stands in the partition keys of the table and of each index."""

    attribute: str
    heads: Mapping[str, tuple[Head, ...]]
    separator: str
    shared: Mapping[str, tuple[Template, ...]] = {}
    """By slot, the partition keys of entities that belong to no tenant. All tenants may read what is there."""


def tenancy(schema: Schema, attribute: str, separator: str, exempt: Collection[type[Any]] = ()) -> Tenancy:
    """The tenancy of a schema, if no key of one tenant can be taken for a key of another.

    Entities that are exempt may have other keys too, which no key of a tenant can be taken for either.
    """
    heads: dict[str, dict[Head, Facet]] = {}
    outside: list[tuple[Bound[Any], Facet]] = []
    for entity in schema.entities:
        free = entity.codec.cls in exempt
        if not free:
            _check_attribute(entity, attribute)
        for facet in entity.facets:
            if free and not _is_tenants(entity, facet, attribute, separator):
                outside.append((entity, facet))
            else:
                heads.setdefault(facet.slot, {}).setdefault(_head(facet, attribute, separator), facet)
    for slot, found in heads.items():
        for one, other in combinations(found, 2):
            if not _apart(one, other, separator):
                raise SchemaError(
                    f"in {slot}, a key of one tenant could begin as those of another: {found[one].pk} of "
                    f"{found[one].entity} beside {found[other].pk} of {found[other].entity}. Put the same text before "
                    f"{{{attribute}}} in both, such as TENANT{separator}{{{attribute}}}{separator}"
                )
    for _, free_facet in outside:
        for head, other_facet in heads.get(free_facet.slot, {}).items():
            _check_outside(free_facet, head, other_facet, attribute, separator)
    by_slot = {slot: tuple(found) for slot, found in heads.items()}
    return Tenancy(attribute, by_slot, separator, _shared(outside, attribute))


def _is_tenants(entity: Bound[Any], facet: Facet, attribute: str, separator: str) -> bool:
    """Whether a key of an entity that need not belong to a tenant does: that of the tenant's own record."""
    if attribute not in entity.codec.attributes or entity.codec.attributes[attribute].optional:
        return False
    try:
        _head(facet, attribute, separator)
    except SchemaError:
        return False
    return True


def _check_outside(facet: Facet, head: Head, other: Facet, attribute: str, separator: str) -> None:
    if head.natural or isinstance(facet.pk, Natural) or meet(facet.pk.shape, head.shape(separator)):
        raise SchemaError(
            f"{facet}: it belongs to no tenant, and its partition key could be taken for one of {other.pk} of "
            f"{other.entity}. Begin it with another word, or let it begin with {{{attribute}}} too"
        )


def _shared(outside: Sequence[tuple[Bound[Any], Facet]], attribute: str) -> dict[str, tuple[Template, ...]]:
    """The keys that all tenants may read by: of items without a tenant, where no records of tenants lie."""
    found: dict[str, list[Template]] = {}
    records = [(facet.slot, facet.pk) for entity, facet in outside if attribute in entity.codec.attributes]
    for entity, facet in outside:
        form = facet.pk
        if isinstance(form, Natural) or attribute in entity.codec.attributes or facet.entity != entity.tag:
            continue
        there = [pk for slot, pk in records if slot == facet.slot]
        if not any(isinstance(pk, Natural) or meet(form.shape, pk.shape) for pk in there):
            found.setdefault(facet.slot, []).append(form)
    return {slot: tuple(forms) for slot, forms in found.items()}


def _check_attribute(entity: Bound[Any], attribute: str) -> None:
    found = entity.codec.attributes.get(attribute)
    if found is None:
        raise SchemaError(
            f"{entity.tag} has no {attribute}, which is the tenant: each item belongs to one. Add the attribute, or "
            "name the class in `exempt` if it belongs to none"
        )
    if found.optional:
        raise SchemaError(f"{entity.tag}.{attribute} is the tenant, and cannot be missing: make it required")


def _head(facet: Facet, attribute: str, separator: str) -> Head:
    form = facet.pk
    if isinstance(form, Natural):
        if form.attributes[0] == attribute:
            return Head("", form.parts[0].encoding, True, True, len(form.parts) > 1)
        raise _leaving(facet, attribute, f"make the index on ({attribute}, {form.attributes[0]})")
    start = form.parts[0]
    lead, parts = (start.text, form.parts[1:]) if isinstance(start, KeyText) else ("", form.parts)
    tenant, rest = parts[0] if parts else None, parts[1:]
    if not isinstance(tenant, KeyField) or tenant.attribute != attribute:
        text = form.text.removeprefix(f"TENANT{separator}")
        raise _leaving(facet, attribute, f"write TENANT{separator}{{{attribute}}}{separator}{text}")
    encoding = tenant.encoding
    if encoding.derived or tenant.optional:
        raise _leaving(facet, attribute, f"write {{{attribute}}} as it is: two tenants could share {{{tenant.name}}}")
    ends = not rest or (isinstance(rest[0], KeyText) and rest[0].text.startswith(separator))
    # In a raw key a value is not escaped; at its end it could hold separators, and look like another's.
    if not ends or (form.raw and not rest) or meet(encoding.shape, ANYTHING + literal(separator) + ANYTHING):
        raise _leaving(facet, attribute, f"let {separator!r} follow {{{attribute}}}, and never stand in it")
    return Head(lead, encoding, not rest)


def _leaving(facet: Facet, attribute: str, fix: str) -> SchemaError:
    return SchemaError(
        f"{facet}: its partition key does not begin with the tenant, {attribute}, so that it could be in reach of "
        f"others: {fix}"
    )


def _apart(one: Head, other: Head, separator: str) -> bool:
    """Whether no key that begins as the one, with some tenant, begins as the other with another tenant."""
    if one.natural or other.natural:
        return one.natural and other.natural
    if one.lead == other.lead:
        return one.encoding == other.encoding
    return not meet(one.shape(separator), other.shape(separator))


# --- The client of one tenant ---------------------------------------------------------------------------------------


def fenced(schema: Schema, tenant: object) -> Schema:
    """The same schema, for one tenant: what is asked and written with it is filled in, or refused."""
    found = schema.tenancy
    if found is None:
        raise SchemaError('the schema has no tenants: declare them with Schema(…, tenant="tenant_id")')
    if schema.fence is not None:
        schema.fence.same(tenant)
        return schema
    bound = copy.copy(schema)
    bound.fence = Fence(found, schema, tenant)
    return bound


_KEYED = {"Get": "Key", "Update": "Key", "Delete": "Key", "ConditionCheck": "Key", "Put": "Item"}
"""What names the item of an action; the operations on single items are called so too."""
_OF_THE_TABLE = frozenset({"DescribeTable", "DescribeTimeToLive", "CreateTable", "UpdateTimeToLive"})
"""Operations that touch no items."""
_PARTITION = re.compile(r"(#?\w++) = (:\w++)(?: AND .*)?", re.DOTALL)
"""A key condition that begins with the partition, as all of ours do."""


class Fence:
    """What keeps a client inside one tenant. It fills in the tenant, and looks at each request before it goes out."""

    def __init__(self, tenancy: Tenancy, schema: Schema, tenant: object) -> None:
        self.attribute = tenancy.attribute
        self.tenant = tenant
        self._shared = tenancy.shared
        self._keys = {slot: schema.keys(slot) for slot in (TABLE, *schema.indexes)}
        self._starts: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        """By slot, what its partition keys may be, and what they may begin with."""
        for slot, heads in tenancy.heads.items():
            texts = {head: next(iter(head.start(tenant, tenancy.separator).values())) for head in heads}
            exact = frozenset(text for head, text in texts.items() if head.whole)
            self._starts[slot] = exact, tuple(text for head, text in texts.items() if not head.whole)

    def filled(self, known: Mapping[str, Any], *entities: Bound[Any]) -> Mapping[str, Any]:
        """What a caller says of items, with the tenant, unless none of the entities has one."""
        if entities and not any(self.attribute in entity.codec.attributes for entity in entities):
            return known
        if self.attribute in known:
            self.same(known[self.attribute])
            return known
        return {**known, self.attribute: self.tenant}

    def same(self, tenant: object) -> None:
        if plain(tenant) != plain(self.tenant):
            raise OtherTenant(f"this client is of {self.attribute} {self.tenant!r}, and was given {tenant!r}")

    def stays(self, changed: Iterable[str]) -> None:
        """Refuses a change of the tenant itself."""
        if self.attribute in changed:
            raise OtherTenant(
                f"this client is of {self.attribute} {self.tenant!r}, and cannot give its items to others"
            )

    def narrow(self, attribute: str, roles: Iterable[AttributeRole]) -> None:
        """Refuses a range over tenants, and other names for them."""
        if attribute == self.attribute:
            raise OtherTenant(f"this client is of {self.attribute} {self.tenant!r}: it has no range of them")
        if any(self.attribute in (role.name, role.attribute) for role in roles):
            raise OtherTenant(f"{self.attribute} is the tenant, which is called so everywhere: leave it out of roles")

    def confined(self, what: str) -> OtherTenant:
        """Why something is not done."""
        return OtherTenant(
            f"this client is of {self.attribute} {self.tenant!r}, and {what} is not confined to one: use the client "
            "that is bound to none"
        )

    def check(self, request: Request) -> None:
        """Lets a request out, if all that it reads and writes is the tenant's."""
        if request.operation in _OF_THE_TABLE:
            return
        start = request.body.get("ExclusiveStartKey")
        if start is not None and not self._holds(start):
            raise CursorError("the cursor is of another tenant")
        for slot, value, reads in self._partitions(request):
            if not self._mine(slot, value) and not (reads and self._is_shared(slot, value)):
                raise OtherTenant(f"this client is of {self.attribute} {self.tenant!r}: {value} is not in its reach")

    def _partitions(self, request: Request) -> Iterator[tuple[str, Any, bool]]:
        """Each partition that a request is about, and whether it only reads there.

        A request of which that cannot be told is refused.
        """
        operation, body = request.operation, request.body
        if operation == "Query":
            yield (*self._queried(body), True)
        elif operation.startswith("Transact"):
            for action in body["TransactItems"]:
                ((kind, said),) = action.items()
                yield from self._of(kind, said)
        elif operation == "BatchGetItem":
            for said in body["RequestItems"].values():
                for key in said["Keys"]:
                    yield from self._of("Get", {"Key": key})
        elif operation == "BatchWriteItem":
            for requests in body["RequestItems"].values():
                for one in requests:
                    ((kind, said),) = one.items()
                    yield from self._of(kind.removesuffix("Request"), said)
        elif operation.removesuffix("Item") in _KEYED:
            yield from self._of(operation.removesuffix("Item"), body)
        else:
            raise self.confined(operation)

    def _of(self, kind: str, said: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
        item = said[_KEYED[kind]]
        yield TABLE, item.get(self._keys[TABLE].pk[0]), kind in ("Get", "ConditionCheck")
        if kind == "Put":
            yield from ((slot, item[keys.pk[0]], False) for slot, keys in self._keys.items() if keys.pk[0] in item)

    def _queried(self, body: Mapping[str, Any]) -> tuple[str, Any]:
        slot = body.get("IndexName", TABLE)
        found = _PARTITION.fullmatch(body["KeyConditionExpression"])
        name = found and body.get("ExpressionAttributeNames", {}).get(found[1], found[1])
        if not found or name != self._keys[slot].pk[0]:
            return slot, None
        return slot, body["ExpressionAttributeValues"][found[2]]

    def _holds(self, key: Mapping[str, Any]) -> bool:
        """Whether all partitions of a key that stands in a cursor are the tenant's, or are everybody's."""
        named = [(slot, key[keys.pk[0]]) for slot, keys in self._keys.items() if keys.pk[0] in key]
        return bool(named) and any(all(reach(*one) for one in named) for reach in (self._mine, self._is_shared))

    def _mine(self, slot: str, value: Mapping[str, Any] | None) -> bool:
        if not value or slot not in self._starts:
            return False
        (text,) = value.values()
        exact, prefixes = self._starts[slot]
        return text in exact or (isinstance(text, str) and text.startswith(prefixes))

    def _is_shared(self, slot: str, value: Mapping[str, Any] | None) -> bool:
        text = next(iter(value.values()), None) if value else None
        return isinstance(text, str) and any(form.matches(text) for form in self._shared.get(slot, ()))
