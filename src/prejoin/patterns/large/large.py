"""Large: an attribute whose content may be larger than an item."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints

import msgspec
from msgspec.structs import replace

from prejoin.keys.content import INLINE, PART, PART_SIZE, UPLOAD, object_folder, part_facet, safe_segment, tenant_folder
from prejoin.patterns.copies import owner_form
from prejoin.patterns.history import HistoryPattern
from prejoin.table.codec.values import Json
from prejoin.table.conversation import Steps
from prejoin.table.errors import SchemaError, TableError
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.schema.schema import Schema
from prejoin.table.write.model import Write

from .stores import ObjectStore

MOST_INLINE = 300 * 1024
MOST_KEY = 1024
"""Bytes of the key of an object, the limit of S3."""


Place = Literal["item", "parts", "objects", "tenant"]
"""Where a content is: in the item, in parts beside it, in objects of a store, or in objects in the tenant's folder."""


class LargeValue(msgspec.Struct, frozen=True):
    """The reference to a content in its item: size, checksum and place. `store_large` makes it."""

    place: Place
    size: int
    sha256: str
    upload: str
    """The ULID of the upload, empty without one. Contents are never changed: a new one is another upload."""
    part_size: int
    """How many bytes of the content are in each part."""
    data: bytes | None = None
    """The content itself, if it is small; compressed if that makes it shorter."""
    compressed: bool = False

    @classmethod
    def of(cls, content: bytes | str) -> LargeValue:
        """Return the value of a content in memory, to be written with its item. Text is stored as UTF-8.

        A write of the item stores a content that is too large for it before, in parts or in the object store.
        """
        data = content.encode() if isinstance(content, str) else content
        return cls("item", len(data), hashlib.sha256(data).hexdigest(), "", PART_SIZE, data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """Let pydantic models have fields of this type."""
        from pydantic_core import core_schema

        return core_schema.no_info_plain_validator_function(
            lambda value: _as_value(value) if isinstance(value, cls | bytes | str) else msgspec.convert(value, cls),
            serialization=core_schema.plain_serializer_function_ser_schema(msgspec.to_builtins),
        )

    @property
    def parts(self) -> int:
        """The number of parts beside the item."""
        return 0 if self.place == "item" else -(-self.size // self.part_size)


def _as_value(content: Any) -> Any:
    """Return bytes and texts as the value of a content, and everything else as it is."""
    return LargeValue.of(content) if isinstance(content, bytes | str) else content


@dataclass(frozen=True)
class Large(Pattern):
    """An attribute whose content may be of any size: `Large("body")` for an attribute `body: LargeValue | None`.

    Contents up to `inline` bytes, after compression, are in the item. Larger ones are in parts of 240 KB in the same
    item collection, or with a `store` in objects of 8 MB: `FolderStore(…)`, `S3Store(…)`, or your own.

    Any write of the item stores a content that is in memory: `db.insert(Document("1", LargeValue.of(data)))`. For files
    and streams, `store_large` writes a content that nobody refers to yet, and any write of the item then refers to it.
    So readers see the old content or the new one. `write_large` does both, and deletes the old content. `read_large`
    and `stream_large` read.

    Cost: in parts a write unit for each KB and half a read unit for each 4 KB, after compression.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Key, read_large, write_large
    >>> @dataclass
    ... class Document:
    ...     document_id: str
    ...     body: LargeValue | None = None
    >>> schema = Schema(Entity(Document, Key("DOC#{document_id}", "DOC"), patterns=[Large("body")]))
    >>> db = Client(schema, "documents", Embedded())
    >>> db.create_table()
    >>> _ = db.insert(Document("1"))
    >>> write_large(db, Document, "body", b"tea " * 500_000, document_id="1").size
    2000000
    >>> document = db.get(Document, document_id="1")
    >>> read_large(db, document, "body", 1_999_996)
    b'tea '
    """

    attribute: str
    store: ObjectStore | None = None
    inline: int = INLINE
    compress: bool = True
    twin: str = ""
    """The copy that has parts, too: the item of another design, for the time between two designs. Each part is written
    under both keys."""

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        label = f"{entity.tag}.{self.attribute}"
        entity.codec.attribute(self.attribute)
        annotation = get_type_hints(entity.codec.cls)[self.attribute]
        if LargeValue not in (annotation, *get_args(annotation)):
            raise SchemaError(f"{label} has a large content, so its type is LargeValue or LargeValue | None")
        if not 0 <= self.inline <= MOST_INLINE:
            raise SchemaError(f"{label}: inline is {self.inline}, and has to be from 0 to {MOST_INLINE} bytes")
        if entity.base.sk is None:
            raise SchemaError(f"{label}: parts need a sort key, and this table has none")
        return LargePattern(self, entity)


class LargePattern(BoundPattern):
    """`Large`, bound to an entity."""

    def __init__(self, large: Large, entity: BoundEntity[Any]) -> None:
        self.declared, self.entity = large, entity
        self.attribute = large.attribute
        binder, base = entity.binder, entity.base
        assert base.sk is not None
        types = entity.codec.types
        self.owners = [entity.base]
        """The keys of the items that have the parts: the item itself, and its twin between two designs."""
        facets = [part_facet(entity.tag, self.attribute, base.pk, base.sk.attributes, types, binder.separator)]
        if large.twin:
            tag, twin = owner_form(entity, large.twin)
            if large.store is not None or twin.sk is None or not set(twin.attributes) <= set(base.attributes):
                raise SchemaError(f"{entity.tag}.{self.attribute}: its copy {large.twin} cannot have its contents")
            self.owners.append(twin)
            facets.append(part_facet(tag, self.attribute, twin.pk, twin.sk.attributes, types, binder.separator))
        self.facets = tuple(facets)

    def check(self, schema: Schema) -> None:
        self.kept = any(
            isinstance(pattern, HistoryPattern) for pattern in schema.entity(self.entity.codec.cls).patterns
        )
        """Whether earlier versions refer to contents that have been replaced."""
        if self.entity.expiry:
            raise SchemaError(
                f"{self.entity.tag} expires by {self.entity.expiry}, which would leave the parts of {self.attribute}. "
                "Leave out one of the patterns"
            )

    def rewrite(self, write: Write) -> Write:
        if not write.changes.names.isdisjoint(write.entity.base.attributes):
            raise TableError(
                f"the key of {write.entity.tag} cannot change, because the parts of {self.attribute} have the same "
                "key. Insert another one with a content of its own, and delete this one"
            )
        content = self._written_value(write)
        return self._with_value(write, _as_value(content)) if isinstance(content, bytes | str) else write

    def prepare(self, schema: Schema, table: str, write: Write) -> Steps[Write] | None:
        value = self._written_value(write)
        if not isinstance(value, LargeValue) or value.place != "item" or value.data is None:
            return None
        if len(value.data) <= self.declared.inline:
            return None
        return self._store(schema, table, write, value)

    def _store(self, schema: Schema, table: str, write: Write, value: LargeValue) -> Steps[Write]:
        from .content import Contents, inline_content  # imports this module

        key = {name: write.values[name] for name in self.entity.base.attributes}
        contents = Contents(schema, table, self.entity.codec.cls, self.attribute, key)
        stored_value = yield from contents.store(inline_content(value))
        return self._with_value(write, stored_value)

    def _written_value(self, write: Write) -> Any:
        """Return the value that a write gives to the attribute; None if it gives none."""
        written_values = write.values if write.verb in ("insert", "put") else write.changes.sets
        return written_values.get(self.attribute)

    def _with_value(self, write: Write, value: LargeValue) -> Write:
        if write.verb in ("insert", "put"):
            return replace(write, values={**write.values, self.attribute: value})
        sets = {**write.changes.sets, self.attribute: value}
        return replace(write, changes=replace(write.changes, sets=sets))

    def key(self, schema: Schema, owner: Mapping[str, Any], upload: str, part: int) -> Json:
        """Return the key of a part."""
        return schema.facet_key(self.facets[0], {**owner, UPLOAD: upload, PART: part})

    def keys(self, schema: Schema, owner: Mapping[str, Any], upload: str, part: int) -> list[Json]:
        """Return the keys of a part: one, or two between two designs."""
        return [schema.facet_key(facet, {**owner, UPLOAD: upload, PART: part}) for facet in self.facets]

    def prefix(self, table: str) -> str:
        """Return the beginning of the keys of all objects."""
        return f"{table}/{object_folder(self.entity.tag, self.attribute)}"

    def tenant(self, schema: Schema) -> str:
        """Return the attribute that is the tenant of the items; empty if they have none."""
        from prejoin.table.schema.tenancy import is_tenants  # only schemas with tenants need it

        tenancy, entity = schema.tenancy, self.entity
        if tenancy is None or not is_tenants(entity, entity.base, tenancy.attribute, tenancy.separator):
            return ""
        return tenancy.attribute

    def place(self, schema: Schema) -> Place:
        """Return where new contents are that are too large for an item."""
        if self.declared.store is None:
            return "parts"
        return "tenant" if self.tenant(schema) else "objects"

    def object_key(
        self, schema: Schema, table: str, owner: Mapping[str, Any], place: Place, upload: str, part: int
    ) -> str:
        """Return the key of an object, which contains the key of its item."""
        folder = ""
        if place == "tenant":
            attribute = self.tenant(schema)
            if not attribute:
                raise SchemaError(f"a content of {self.entity.tag} is in the folder of a tenant, and it has none")
            folder = tenant_folder(str(owner[attribute]))
        item_folder = safe_segment(msgspec.json.encode(schema.facet_key(self.entity.base, owner)))
        key = f"{self.prefix(table)}{folder}{item_folder}/{upload}/{part:06}"
        if len(key) > MOST_KEY:
            raise TableError(
                f"the key of {self.entity.tag} is too long for an object of {self.attribute}: {len(key)} bytes, "
                f"and the limit is {MOST_KEY}"
            )
        return key

    def owner_of(self, key: str) -> tuple[Json, str]:
        """Return the key of the item and the upload of an object."""
        *_, item_folder, upload, _ = key.split("/")
        return msgspec.json.decode(base64.urlsafe_b64decode(item_folder + "=" * (-len(item_folder) % 4))), upload


def large_pattern(schema: Schema, cls: type[Any], attribute: str) -> LargePattern:
    """Return the pattern of a large attribute."""
    patterns = [pattern for pattern in schema.entity(cls).patterns if isinstance(pattern, LargePattern)]
    for pattern in patterns:
        if pattern.attribute == attribute:
            return pattern
    names = ", ".join(pattern.attribute for pattern in patterns) or "none"
    raise SchemaError(f"{cls.__name__} has no large attribute {attribute} (it has {names}). Declare Large(…)")
