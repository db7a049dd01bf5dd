"""Tenants of one table: partition keys begin with the tenant, and a client of one tenant reaches no other keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import msgspec

from prejoin.keys import TABLE, AttributeRole, Facet, KeyField, KeyText, KeyValueError, Natural, Template
from prejoin.keys.template.encoding import Encoding, plain
from prejoin.keys.template.shape import ANYTHING, Shape, literal, meet
from prejoin.table.conversation import Request
from prejoin.table.errors import CursorError, OtherTenant, SchemaError

from .bind import BoundEntity
from .key_attributes import KeyAttributes, wire


class Head(msgspec.Struct, frozen=True):
    """The beginning of a partition key: text, the tenant, and then a separator or the end."""

    lead: str
    encoding: Encoding
    whole_key: bool
    """Whether the key ends after the tenant."""
    natural: bool = False
    """Whether the key is the attribute itself."""
    several: bool = False
    """Whether the tenant is the first of several attributes in the partition key of an index."""

    def shape(self, separator: str) -> Shape:
        """Return the shape of all keys with this beginning."""
        end = () if self.whole_key else literal(separator) + ANYTHING
        return literal(self.lead) + self.encoding.shape + end

    def start(self, value: object, separator: str) -> dict[str, str]:
        """Return the beginning of the keys of one tenant, or the whole key, in DynamoDB JSON."""
        encoded_tenant = self.encoding.encode(value)
        if encoded_tenant in ("", b""):
            raise KeyValueError(f"{value!r} is not a tenant: a tenant has a name")
        return wire(
            encoded_tenant if self.natural else f"{self.lead}{encoded_tenant}{'' if self.whole_key else separator}"
        )


class Tenancy(msgspec.Struct, frozen=True):
    """The attribute that is the tenant, and its place in the partition keys of the table and of each index."""

    attribute: str
    heads: Mapping[str, tuple[Head, ...]]
    separator: str
    shared: Mapping[str, tuple[Template, ...]] = {}
    """By slot, the partition keys of entities without a tenant. All tenants may read these items."""


def tenancy(
    entities: Iterable[BoundEntity[Any]], attribute: str, separator: str, exempt: Collection[type[Any]] = ()
) -> Tenancy:
    """Return the tenancy of entities. Raise SchemaError if a key of one tenant could be a key of another.

    Exempt entities may have keys without the tenant, if these cannot be keys of a tenant.
    """
    heads: dict[str, dict[Head, Facet]] = {}
    outside: list[tuple[BoundEntity[Any], Facet]] = []
    for entity in entities:
        is_exempt = entity.codec.cls in exempt
        if not is_exempt:
            _check_attribute(entity, attribute)
        for facet in entity.facets:
            if is_exempt and not is_tenants(entity, facet, attribute, separator):
                outside.append((entity, facet))
            else:
                heads.setdefault(facet.slot, {}).setdefault(_head(facet, attribute, separator), facet)
    for slot, slot_heads in heads.items():
        for first, second in combinations(slot_heads, 2):
            if not _are_distinct(first, second, separator):
                facet, other_facet = slot_heads[first], slot_heads[second]
                raise SchemaError(
                    f"in {slot}, the keys of two tenants could begin alike: {facet.pk} of {facet.entity} "
                    f"and {other_facet.pk} of {other_facet.entity}. Put the same text before {{{attribute}}} in "
                    f"both, such as TENANT{separator}{{{attribute}}}{separator}"
                )
    for _, free_facet in outside:
        for head, other_facet in heads.get(free_facet.slot, {}).items():
            _check_outside(free_facet, head, other_facet, attribute, separator)
    by_slot = {slot: tuple(slot_heads) for slot, slot_heads in heads.items()}
    return Tenancy(attribute, by_slot, separator, _shared_keys(outside, attribute))


def is_tenants(entity: BoundEntity[Any], facet: Facet, attribute: str, separator: str) -> bool:
    """Return whether a key begins with the tenant. Of exempt entities, that of the tenant's own record does."""
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
            f"{facet}: it belongs to no tenant, but its partition key could equal one of {other.pk} of {other.entity}. "
            f"Begin it with another word, or with {{{attribute}}}"
        )


def _shared_keys(outside: Sequence[tuple[BoundEntity[Any], Facet]], attribute: str) -> dict[str, tuple[Template, ...]]:
    """Return the keys that all tenants may read: those of items without a tenant, apart from records of tenants."""
    templates: dict[str, list[Template]] = {}
    records = [(facet.slot, facet.pk) for entity, facet in outside if attribute in entity.codec.attributes]
    for entity, facet in outside:
        form = facet.pk
        if isinstance(form, Natural) or attribute in entity.codec.attributes or facet.entity != entity.tag:
            continue
        record_keys = [pk for slot, pk in records if slot == facet.slot]
        if not any(isinstance(pk, Natural) or meet(form.shape, pk.shape) for pk in record_keys):
            templates.setdefault(facet.slot, []).append(form)
    return {slot: tuple(forms) for slot, forms in templates.items()}


def _check_attribute(entity: BoundEntity[Any], attribute: str) -> None:
    attribute_codec = entity.codec.attributes.get(attribute)
    if attribute_codec is None:
        raise SchemaError(
            f"{entity.tag} has no attribute {attribute}, which is the tenant. Add it, or name the class in `exempt` if "
            "its items belong to no tenant"
        )
    if attribute_codec.optional:
        raise SchemaError(f"{entity.tag}.{attribute} is the tenant and must not be optional. Make it required")


def _head(facet: Facet, attribute: str, separator: str) -> Head:
    form = facet.pk
    if isinstance(form, Natural):
        if form.attributes[0] == attribute:
            return Head("", form.parts[0].encoding, True, True, len(form.parts) > 1)
        raise _leaving(facet, attribute, f"make the index on ({attribute}, {form.attributes[0]})")
    start = form.parts[0]
    lead, parts = (start.text, form.parts[1:]) if isinstance(start, KeyText) else ("", form.parts)
    tenant, following_parts = parts[0] if parts else None, parts[1:]
    if not isinstance(tenant, KeyField) or tenant.attribute != attribute:
        text = form.text.removeprefix(f"TENANT{separator}")
        raise _leaving(facet, attribute, f"write TENANT{separator}{{{attribute}}}{separator}{text}")
    encoding = tenant.encoding
    if encoding.derived or tenant.optional:
        raise _leaving(
            facet, attribute, f"write {{{attribute}}} without a spec: two tenants could share {{{tenant.name}}}"
        )
    ends = not following_parts or (
        isinstance(following_parts[0], KeyText) and following_parts[0].text.startswith(separator)
    )
    # A value in a raw key is not escaped: at its end it could contain separators, and look like another tenant's.
    if not ends or (form.raw and not following_parts) or meet(encoding.shape, ANYTHING + literal(separator) + ANYTHING):
        raise _leaving(facet, attribute, f"put {separator!r} after {{{attribute}}}, which must not contain it")
    return Head(lead, encoding, not following_parts)


def _leaving(facet: Facet, attribute: str, fix: str) -> SchemaError:
    return SchemaError(
        f"{facet}: its partition key does not begin with the tenant, {attribute}, so other tenants could reach it. "
        f"To fix it, {fix}"
    )


def _are_distinct(first: Head, second: Head, separator: str) -> bool:
    """Return whether no key with one beginning can also have the other beginning with another tenant."""
    if first.natural or second.natural:
        return first.natural and second.natural
    if first.lead == second.lead:
        return first.encoding == second.encoding
    return not meet(first.shape(separator), second.shape(separator))


# --- The client of one tenant ---------------------------------------------------------------------------------------


_KEY_PARAMETERS = {"Get": "Key", "Update": "Key", "Delete": "Key", "ConditionCheck": "Key", "Put": "Item"}
"""The parameter with the key of an item, by kind of action. Operations on single items have the same names."""
_OF_THE_TABLE = frozenset({"DescribeTable", "DescribeTimeToLive", "CreateTable", "UpdateTimeToLive"})
"""Operations that read and write no items."""
_PARTITION = re.compile(r"(#?\w++) = (:\w++)(?: AND .*)?", re.DOTALL)
"""A key condition that begins with the partition key, as all of ours do."""


class Fence:
    """Confines a client to one tenant: it adds the tenant to arguments, and checks each request before it is sent."""

    def __init__(self, tenancy: Tenancy, keys: Mapping[str, KeyAttributes], tenant: object) -> None:
        self.attribute = tenancy.attribute
        self.tenant = tenant
        self._shared = tenancy.shared
        self._keys = keys
        self._starts: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
        """By slot, the whole partition keys and the beginnings of partition keys that belong to the tenant."""
        for slot, heads in tenancy.heads.items():
            texts = {head: next(iter(head.start(tenant, tenancy.separator).values())) for head in heads}
            exact = frozenset(text for head, text in texts.items() if head.whole_key)
            self._starts[slot] = exact, tuple(text for head, text in texts.items() if not head.whole_key)

    def fill(self, values: Mapping[str, Any], *entities: BoundEntity[Any]) -> Mapping[str, Any]:
        """Return known attributes with the tenant, unless none of the entities has a tenant."""
        if entities and not any(self.attribute in entity.codec.attributes for entity in entities):
            return values
        if self.attribute in values:
            self.check_tenant(values[self.attribute])
            return values
        return {**values, self.attribute: self.tenant}

    def check_tenant(self, tenant: object) -> None:
        if plain(tenant) != plain(self.tenant):
            raise OtherTenant(f"this client is confined to {self.attribute} {self.tenant!r}, and was given {tenant!r}")

    def check_stays(self, changed_names: Iterable[str]) -> None:
        """Refuse an update of the tenant attribute."""
        if self.attribute in changed_names:
            raise OtherTenant(
                f"this client is confined to {self.attribute} {self.tenant!r}, and cannot move items to another tenant"
            )

    def check_range(self, attribute: str, roles: Iterable[AttributeRole]) -> None:
        """Refuse a range over tenants, and roles for the tenant attribute."""
        if attribute == self.attribute:
            raise OtherTenant(
                f"this client is confined to {self.attribute} {self.tenant!r}, and cannot query a range of tenants"
            )
        if any(self.attribute in (role.name, role.attribute) for role in roles):
            raise OtherTenant(f"{self.attribute} is the tenant and has the same name everywhere. Leave it out of roles")

    def refusal(self, operation: str) -> OtherTenant:
        """Return the error for an operation that cannot be confined to one tenant."""
        return OtherTenant(
            f"{operation} cannot be confined to one tenant, and this client is confined to {self.attribute} "
            f"{self.tenant!r}. Use the client without a tenant"
        )

    def check(self, request: Request) -> None:
        """Raise OtherTenant if a request reads or writes an item of another tenant."""
        if request.operation in _OF_THE_TABLE:
            return
        # Schemas and plans put the tenant into keys already. This looks at the finished request, whatever made it.
        start = request.body.get("ExclusiveStartKey")
        if start is not None and not self._holds(start):
            raise CursorError("the cursor is of another tenant")
        for slot, value, reads in self._partitions(request):
            if not self._is_own(slot, value) and not (reads and self._is_shared(slot, value)):
                raise OtherTenant(
                    f"this client is confined to {self.attribute} {self.tenant!r}, and {value} is outside of it"
                )

    def _partitions(self, request: Request) -> Iterator[tuple[str, Any, bool]]:
        """Yield each partition that a request reads or writes, and whether it only reads.

        A request whose partitions are not known is refused.
        """
        operation, body = request.operation, request.body
        if operation == "Query":
            yield (*self._query_partition(body), True)
        elif operation.startswith("Transact"):
            for action in body["TransactItems"]:
                ((kind, parameters),) = action.items()
                yield from self._action_partitions(kind, parameters)
        elif operation == "BatchGetItem":
            for parameters in body["RequestItems"].values():
                for key in parameters["Keys"]:
                    yield from self._action_partitions("Get", {"Key": key})
        elif operation == "BatchWriteItem":
            for requests in body["RequestItems"].values():
                for write_request in requests:
                    ((kind, parameters),) = write_request.items()
                    yield from self._action_partitions(kind.removesuffix("Request"), parameters)
        elif operation.removesuffix("Item") in _KEY_PARAMETERS:
            yield from self._action_partitions(operation.removesuffix("Item"), body)
        else:
            raise self.refusal(operation)

    def _action_partitions(self, kind: str, parameters: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
        item = parameters[_KEY_PARAMETERS[kind]]
        yield TABLE, item.get(self._keys[TABLE].pk[0]), kind in ("Get", "ConditionCheck")
        # A put enters every index whose key attributes it has.
        if kind == "Put":
            yield from ((slot, item[keys.pk[0]], False) for slot, keys in self._keys.items() if keys.pk[0] in item)

    def _query_partition(self, body: Mapping[str, Any]) -> tuple[str, Any]:
        slot = body.get("IndexName", TABLE)
        match = _PARTITION.fullmatch(body["KeyConditionExpression"])
        name = match and body.get("ExpressionAttributeNames", {}).get(match[1], match[1])
        if not match or name != self._keys[slot].pk[0]:
            return slot, None
        return slot, body["ExpressionAttributeValues"][match[2]]

    def _holds(self, key: Mapping[str, Any]) -> bool:
        """Return whether all partitions of a key from a cursor belong to the tenant, or all are shared."""
        partitions = [(slot, key[keys.pk[0]]) for slot, keys in self._keys.items() if keys.pk[0] in key]
        if not partitions:
            return False
        are_own = all(self._is_own(slot, value) for slot, value in partitions)
        # A key that is half the tenant's and half shared is of no query of this tenant.
        return are_own or all(self._is_shared(slot, value) for slot, value in partitions)

    def _is_own(self, slot: str, value: Mapping[str, Any] | None) -> bool:
        if not value or slot not in self._starts:
            return False
        (text,) = value.values()
        exact, prefixes = self._starts[slot]
        return text in exact or (isinstance(text, str) and text.startswith(prefixes))

    def _is_shared(self, slot: str, value: Mapping[str, Any] | None) -> bool:
        text = next(iter(value.values()), None) if value else None
        return isinstance(text, str) and any(form.matches(text) for form in self._shared.get(slot, ()))
