"""A declared entity bound to its class: templates read, conditions turned into membership, guards and copies keyed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from prejoin.keys import TABLE, Facet, Template, TemplateError, When, guard_key
from prejoin.keys.encoding import plain
from prejoin.types import Kind

from .codec import Codec
from .declare import Copy, Entity, Index, Key, Membership
from .errors import SchemaError
from .expressions import Compare, Condition, Exists, In, conjuncts, recorded

E = TypeVar("E")

_STORED_AS_TEXT = {Kind.STRING, Kind.ENUM, Kind.DATE, Kind.DATETIME, Kind.UUID, Kind.ULID}


@dataclass(frozen=True)
class BoundCopy:
    """A copy: its facet, and the attributes its items have."""

    facet: Facet
    tag: str
    attributes: frozenset[str]


@dataclass(frozen=True)
class Guard:
    """The item that makes a value unique: its key is the value."""

    attributes: tuple[str, ...]
    facet: Facet


@dataclass(frozen=True)
class Bound(Generic[E]):
    """An entity of a schema, ready to be used."""

    tag: str
    codec: Codec[E]
    base: Facet
    indexes: Mapping[str, Facet]
    """By slot, the facets whose keys we write."""
    natural: Mapping[str, Facet]
    """By slot, the facets whose keys are attributes of the entity itself."""
    copies: tuple[BoundCopy, ...]
    guards: tuple[Guard, ...]

    @property
    def facets(self) -> tuple[Facet, ...]:
        own = (self.base, *self.indexes.values(), *self.natural.values())
        return own + tuple(copy.facet for copy in self.copies) + tuple(guard.facet for guard in self.guards)


def bind(entity: Entity[E], indexes: Mapping[str, Index], separator: str) -> Bound[E]:
    """Binds a declared entity, or says what is wrong with it."""
    codec = Codec.of(entity.cls, entity.names)
    binder = _Binder(entity, codec, separator)
    base = binder.facet(TABLE, entity.key)
    _check_base(base, codec)
    for slot in entity.indexes:
        if slot not in indexes:
            known = ", ".join(indexes) or "none"
            raise SchemaError(
                f"{codec.name} has a key for index {slot}, which the schema does not have (it has {known})"
            )
    return Bound(
        binder.tag,
        codec,
        base,
        {slot: binder.facet(slot, key, holds=indexes[slot]) for slot, key in entity.indexes.items()},
        {slot: facet for slot, index in indexes.items() if (facet := binder.natural(slot, index))},
        tuple(binder.copy(copy, base) for copy in entity.copies),
        tuple(binder.guard((said,) if isinstance(said, str) else tuple(said)) for said in entity.unique),
    )


@dataclass(frozen=True)
class _Binder:
    entity: Entity[Any]
    codec: Codec[Any]
    separator: str

    @property
    def tag(self) -> str:
        return self.entity.tag or self.codec.name

    def facet(self, slot: str, key: Key, copy: str = "", holds: Index | None = None) -> Facet:
        pk, sk = self._template(key.pk, key.raw), self._template(key.sk, key.raw) if key.sk is not None else None
        named = dict.fromkeys(pk.attributes + (sk.attributes if sk else ()))
        when = list(membership(key.when, self.codec))
        said = {item.attribute for item in when}
        # An item without an attribute of an index's key is not in the index.
        when += [When(a) for a in named if self.codec.attribute(a).optional and a not in said]
        if slot == TABLE and when and not copy:
            raise SchemaError(
                f"{self.codec.name}: every item is in the table; `when` and optional attributes are not for its key"
            )
        return Facet(self.tag, slot, pk, sk, tuple(when), copy, _held(holds, self.codec))

    def natural(self, slot: str, index: Index) -> Facet | None:
        """The facet of an index on attributes of the entity, if it has them."""
        wires = {attribute.wire: attribute for attribute in self.codec.attributes.values()}
        keys = [name for name in (index.pk, index.sk) if name]
        if slot in self.entity.indexes:
            if clash := [name for name in keys if name in wires]:
                raise SchemaError(f"{self.codec.name}.{clash[0]} is also the name of a key of index {slot}")
            return None
        if not keys or any(name not in wires for name in keys):
            return None
        found = [wires[name] for name in keys]
        for attribute in found:
            if attribute.type.kind not in _STORED_AS_TEXT:
                raise SchemaError(
                    f"index {slot} on {attribute.name}, a {attribute.type}: only text can be a natural key so far"
                )
        texts = [f"{{{attribute.name}}}" for attribute in found]
        return self.facet(slot, Key(texts[0], texts[1] if len(texts) > 1 else None, raw=True), holds=index)

    def copy(self, copy: Copy, base: Facet) -> BoundCopy:
        if not copy.name:
            raise SchemaError(f"a copy of {self.codec.name} has no name")
        facet = self.facet(TABLE, copy.key, copy.name)
        everything = frozenset(self.codec.attributes)
        wanted = everything
        if copy.attributes is not None:
            for name in copy.attributes:
                self.codec.attribute(name)
            wanted = frozenset(copy.attributes) | set(base.attributes) | set(facet.attributes)
        holds = None if wanted == everything else wanted
        facet = Facet(facet.entity, TABLE, facet.pk, facet.sk, facet.when, copy.name, holds)
        return BoundCopy(facet, f"{self.tag}.{copy.name}", wanted)

    def guard(self, attributes: tuple[str, ...]) -> Guard:
        types = {name: self.codec.attribute(name).type for name in attributes}
        try:
            pk, sk = guard_key(self.tag, attributes, types, self.separator, self.entity.key.sk is not None)
        except TemplateError as error:
            raise SchemaError(f"{self.codec.name}, unique {', '.join(attributes)}: {error}") from None
        # Named so that nobody can ask for it: a guard is never an answer.
        return Guard(attributes, Facet(f"{self.tag} unique {', '.join(attributes)}", TABLE, pk, sk))

    def _template(self, text: str, raw: bool) -> Template:
        try:
            return Template.of(text, self.codec.types, self.separator, raw)
        except TemplateError as error:
            raise SchemaError(f"{self.codec.name}, {error}") from None


def membership(when: Membership, codec: Codec[Any]) -> tuple[When, ...]:
    """The conditions of a sparse facet as the planner knows them: an attribute is one of some values, or present."""
    if when is None:
        return ()
    if not callable(when):
        for item in when:
            codec.attribute(item.attribute)
        return tuple(when)
    return tuple(_when(condition, codec) for condition in conjuncts(recorded(when, codec)))


def _when(condition: Condition, codec: Codec[Any]) -> When:
    match condition:
        case Compare((name,), "=", value):
            return When(name, frozenset({plain(value)}))
        case Compare((name,), "<>", value) if codec.attribute(name).type.values:
            return When(name, frozenset(codec.attribute(name).type.values) - {plain(value)})
        case In((name,), values):
            return When(name, frozenset(map(plain, values)))
        case Exists((name,), True):
            return When(name)
        case _:
            raise SchemaError(
                f"{codec.name}: {condition} cannot say what is in an index; "
                "use ==, one_of or exists, and != for an enum"
            )


def _held(index: Index | None, codec: Codec[Any]) -> frozenset[str] | None:
    if index is None or index.projection == "ALL":
        return None
    wires = () if isinstance(index.projection, str) else index.projection
    held = frozenset(a.name for a in codec.attributes.values() if a.wire in wires)
    return None if len(held) == len(codec.attributes) else held


def _check_base(base: Facet, codec: Codec[Any]) -> None:
    known = set()
    for template in filter(None, (base.pk, base.sk)):
        known |= {found.attribute for found in template.fields if not found.encoding.derived}
    for attribute in base.attributes:
        if attribute not in known:
            raise SchemaError(
                f"{codec.name}: its key {base.pk} / {base.sk} has {attribute} only in a derived form, "
                "so different items could share it"
            )
