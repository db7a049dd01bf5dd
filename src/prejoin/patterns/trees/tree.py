"""Trees: items with a path such as `/docs/projects/2024` in the sort key, and queries for subtrees and ancestors."""

from __future__ import annotations

from collections.abc import Coroutine, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar, overload

from msgspec.structs import replace

from prejoin.keys import TABLE, Facet, KeyField, KeyText, KeyValueError, Separator, Template
from prejoin.keys.template.specs import path_names
from prejoin.table.condition.record import begins_with
from prejoin.table.errors import SchemaError, TableError
from prejoin.table.read.page import Page
from prejoin.table.schema.bind import BoundEntity
from prejoin.table.schema.pattern import BoundPattern, Pattern
from prejoin.table.update.changes import Changes
from prejoin.table.write.model import Write
from prejoin.types import Kind

if TYPE_CHECKING:
    from prejoin.table.client.async_client import AsyncClient
    from prejoin.table.client.client import Client

E = TypeVar("E")


@dataclass(frozen=True)
class Tree(Pattern):
    """An attribute that holds a path, at the end of the sort key: `Key("DRIVE#{drive}", "FILE#{path:tree}")`.

    A path has a `/` before each name. In the key it also ends with `/`, so one Query reads the subtree of `/docs`,
    without `/docs2`. `parent` names an attribute with the path of the parent, for an index that `children` uses;
    `depth` names one with the number of names. Each write sets both.

    Cost: nothing more. The costs of `children`, `subtree`, `ancestors` and `move` are in their documentation.

    >>> from dataclasses import dataclass
    >>> from prejoin.engine import Embedded
    >>> from prejoin import Client, Entity, Index, Key, Schema
    >>> @dataclass
    ... class File:
    ...     drive: str
    ...     path: str
    ...     parent: str = ""
    >>> file = Entity(
    ...     File,
    ...     Key("DRIVE#{drive}", "FILE#{path:tree}"),
    ...     indexes={"children": Key("DRIVE#{drive}#{parent}", "{path}")},
    ...     patterns=[Tree("path", parent="parent")],
    ... )
    >>> db = Client(Schema(file, indexes=[Index("children")]), "files", Embedded())
    >>> db.create_table()
    >>> _ = db.put_many(File("d", path) for path in ["/docs", "/docs/a", "/docs/a/b", "/docs2"])
    >>> [file.path for file in subtree(db, File, "/docs", drive="d")]
    ['/docs', '/docs/a', '/docs/a/b']
    >>> [file.path for file in children(db, File, "/docs", drive="d")]
    ['/docs/a']
    >>> [file.path for file in children(db, File, "/", drive="d")]
    ['/docs', '/docs2']
    """

    path: str = "path"
    parent: str | None = None
    depth: str | None = None

    def bind(self, entity: BoundEntity[Any]) -> BoundPattern:
        base, maintained_names = entity.base, [name for name in (self.parent, self.depth) if name]
        entity.codec.attribute(self.path)
        last = base.sk.parts[-1] if isinstance(base.sk, Template) else None
        if not isinstance(last, KeyField) or (last.attribute, last.spec) != (self.path, "tree"):
            raise SchemaError(
                f"{entity.tag}: its sort key {base.sk} must end with {{{self.path}:tree}}, by which subtrees are found"
            )
        for name, kind in ((self.parent, Kind.STRING), (self.depth, Kind.INTEGER)):
            if name and entity.codec.attribute(name).type.kind is not kind:
                raise SchemaError(f"{entity.tag}.{name} is maintained by Tree, and must be a {kind}")
            if name in base.attributes:
                raise SchemaError(f"{entity.tag}.{name} follows from {self.path}. Leave it out of the key of the table")
        return BoundTree(self.path, self.parent, self.depth, _journal(entity, self.path), frozenset(maintained_names))


def _journal(entity: BoundEntity[Any], path: str) -> Facet:
    """Return the key of the journal of a move. Each tree has one, and all are in one partition."""
    binder = entity.binder
    separator = Separator(binder.separator)
    other_names = [name for name in entity.base.attributes if name != path]
    tenant_names = [name for name in other_names if name == binder.tenant]
    lead = separator.char.join(map(separator.quote, ("MOVING", entity.tag)))
    return Facet(
        f"{entity.tag} moving",
        TABLE,
        _key_template(lead, tenant_names, entity, separator),
        _key_template("TREE", [name for name in other_names if name not in tenant_names], entity, separator),
    )


def _key_template(lead: str, names: list[str], entity: BoundEntity[Any], separator: Separator) -> Template:
    # Made from parts, because a tag may contain escapes, which the text of a template must not.
    if not names:
        return Template(lead, (KeyText(lead),), separator)
    fields = separator.char.join(f"{{{name}}}" for name in names)
    template = Template.of(fields, entity.codec.types, separator.char)
    return Template(
        f"{lead}{separator.char}{fields}", (KeyText(lead + separator.char), *template.parts), template.separator
    )


class BoundTree(BoundPattern):
    """`Tree`, bound to an entity."""

    def __init__(
        self, path: str, parent: str | None, depth: str | None, journal: Facet, maintained_names: frozenset[str]
    ) -> None:
        self.path = path
        self.parent = parent
        self.depth = depth
        self.journal = journal
        self.maintained = maintained_names
        self.facets = (journal,)

    def rewrite(self, write: Write) -> Write:
        if touched_names := self.maintained & write.changes.names:
            raise TableError(
                f"{', '.join(sorted(touched_names))} of {write.entity.tag} follows from {self.path}, and is maintained "
                "by Tree. Do not change it"
            )
        if write.verb in ("insert", "put"):
            return replace(write, values=self.values_at(write.entity, write.values, write.values[self.path]))
        changes = write.changes
        path = changes.sets.get(self.path, write.values.get(self.path) if write.verb == "upsert" else None)
        if path is None or not self.maintained:
            return write
        sets: dict[Any, Any] = {**changes.sets, **self._derived_values(write.entity, path)}
        return replace(write, changes=Changes(sets, changes.adds, changes.removes, changes.deletes))

    def values_at(self, entity: BoundEntity[Any], values: Mapping[str, Any], path: str) -> dict[str, Any]:
        """Return the values of an item at a path."""
        return {**values, self.path: path, **self._derived_values(entity, path)}

    def _derived_values(self, entity: BoundEntity[Any], path: str) -> dict[str, Any]:
        names = path_names(path)
        values: dict[str, Any] = {}
        if self.parent:
            parent = parent_path(path)
            values[self.parent] = "" if parent is None and not entity.codec.attribute(self.parent).optional else parent
        if self.depth:
            values[self.depth] = len(names)
        return values


def tree_of(entity: BoundEntity[Any]) -> BoundTree:
    """Return the tree of an entity."""
    for pattern in entity.patterns:
        if isinstance(pattern, BoundTree):
            return pattern
    raise SchemaError(f'{entity.tag} has no tree. Declare it with Entity(…, patterns=[Tree("path")])')


def parent_path(path: str) -> str | None:
    """Return the path of the parent; None for the root.

    >>> parent_path("/docs/2024"), parent_path("/docs"), parent_path("/")
    ('/docs', '/', None)
    """
    names = path_names(path)
    return join_path(names[:-1]) if names else None


def join_path(names: list[str]) -> str:
    """Return the path of some names.

    >>> join_path(["docs", "2024"]), join_path([])
    ('/docs/2024', '/')
    """
    return "/" + "/".join(names)


def below(path: str, top: str) -> bool:
    """Return whether a path is at or below another.

    >>> below("/docs/2024", "/docs"), below("/docs2", "/docs"), below("/docs", "/")
    (True, False, True)
    """
    names = path_names(top)
    return path_names(path)[: len(names)] == names


@overload
def subtree(db: Client, cls: type[E], path: str, /, **more: Any) -> Page[E]: ...
@overload
def subtree(db: AsyncClient, cls: type[E], path: str, /, **more: Any) -> Coroutine[Any, Any, Page[E]]: ...
def subtree(db: Client | AsyncClient, cls: type[E], path: str, /, **more: Any) -> Any:
    """Return the objects at a path and below it, parents before their children, with one Query.

    Pass the other attributes of the key (`drive="d"`), and arguments of `query`: `limit`, `after`, `reverse`, `filter`,
    `consistent`, `into`. It costs the read of these items.
    """
    name = tree_of(db.schema.entity(cls)).path
    return db.query(cls, lambda item: begins_with(getattr(item, name), path), **more)


@overload
def children(db: Client, cls: type[E], path: str, /, **more: Any) -> Page[E]: ...
@overload
def children(db: AsyncClient, cls: type[E], path: str, /, **more: Any) -> Coroutine[Any, Any, Page[E]]: ...
def children(db: Client | AsyncClient, cls: type[E], path: str, /, **more: Any) -> Any:
    """Return the objects directly below a path, with one Query of an index with `parent` in its partition key.

    It costs the read of these items; and for the index, 1 write unit for each KB that is written. The arguments are
    those of `subtree`.
    """
    parent = tree_of(db.schema.entity(cls)).parent
    if parent is None:
        raise SchemaError(
            f"children() of {cls.__name__} needs a Tree with parent=, and an index with that attribute in its "
            "partition key"
        )
    path_names(path)
    return db.query(cls, None, **{**more, parent: path})


@overload
def ancestors(db: Client, cls: type[E], path: str, /, **known: Any) -> list[E]: ...
@overload
def ancestors(db: AsyncClient, cls: type[E], path: str, /, **known: Any) -> Coroutine[Any, Any, list[E]]: ...
def ancestors(db: Client | AsyncClient, cls: type[E], path: str, /, **known: Any) -> Any:
    """Return the objects above a path, from the root down, with one BatchGetItem. Missing ones are left out.

    It costs the read of these items, and half a read unit for each that is missing.
    """
    names = path_names(path)
    attribute = tree_of(db.schema.entity(cls)).path
    keys = [{**known, attribute: join_path(names[:count])} for count in range(len(names))]
    records: Any = db.get_many(cls, keys)
    return _present(records) if isinstance(records, list) else _present_async(records)


def _present(records: list[E | None]) -> list[E]:
    return [record for record in records if record is not None]


async def _present_async(records: Coroutine[Any, Any, list[E | None]]) -> list[E]:
    return _present(await records)


def checked_path(path: str) -> str:
    """Return a path; raise TableError if it is not valid."""
    try:
        path_names(path)
    except KeyValueError as error:
        raise TableError(str(error)) from None
    return path
