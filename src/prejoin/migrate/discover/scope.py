"""The tables of a statement, and how they are joined: the columns that are equal, and which table refers to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from prejoin.migrate.discover.entities import TableEntity


class MisfitError(Exception):
    """A statement, or a part of it, that no key serves: what it is, and what to do instead."""

    def __init__(self, what: str, instead: str) -> None:
        super().__init__(what)
        self.what = what
        self.instead = instead


@dataclass(frozen=True, slots=True)
class Place:
    """A column of a table in a statement, by the table's alias."""

    alias: str
    column: str


@dataclass(slots=True)
class Scope:
    """The tables of a statement by alias, in their order, and the classes of equal columns."""

    tables: dict[str, TableEntity]
    equal: list[set[Place]] = field(default_factory=list)

    @property
    def aliases(self) -> list[str]:
        return list(self.tables)

    def place(self, column: exp.Column) -> Place:
        """The table and the column that a name refers to."""
        name, alias = column.name.lower(), column.table.lower()
        for one, entity in self.tables.items():
            found = entity.table.column(name)
            if found is not None and alias in ("", one):
                return Place(one, found.name)
        raise MisfitError(f"it uses `{column.sql()}`, which is no column of its tables", "check the statement")

    def join(self, one: Place, other: Place) -> None:
        touched = [group for group in self.equal if one in group or other in group]
        merged = {one, other}.union(*touched)
        self.equal = [group for group in self.equal if group not in touched] + [merged]

    def in_table(self, place: Place, alias: str) -> Place | None:
        """The same value as a column of another table of the statement, if it has one."""
        if place.alias == alias:
            return place
        group = next((g for g in self.equal if place in g), set())
        return next((p for p in sorted(group, key=lambda p: p.column) if p.alias == alias), None)

    def attribute(self, place: Place) -> str:
        return self.tables[place.alias].attributes[place.column]

    def parents(self, alias: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The tables that one refers to by a joined foreign key, with its columns."""
        for fk in self.tables[alias].table.foreign_keys:
            for other, entity in self.tables.items():
                if other == alias or entity.table.name != fk.table or set(entity.table.key) != set(fk.references):
                    continue
                pairs = zip(fk.columns, fk.references, strict=True)
                if all(self._equal(Place(alias, a), Place(other, b)) for a, b in pairs):
                    yield other, fk.columns

    def _equal(self, one: Place, other: Place) -> bool:
        return any(one in group and other in group for group in self.equal)

    def reaches(self, alias: str) -> set[str]:
        """The tables that follow from a row of one by foreign keys, itself included."""
        found, waiting = {alias}, [alias]
        while waiting:
            for other, _ in self.parents(waiting.pop()):
                if other not in found:
                    found.add(other)
                    waiting.append(other)
        return found


def scope_of(tree: exp.Expr, entities: Mapping[str, TableEntity]) -> tuple[Scope, list[exp.Expr]]:
    """The scope of a SELECT, and the conditions of its WHERE and its joins that are no equalities of columns."""
    tables: dict[str, TableEntity] = {}
    source = tree.args.get("from_") or tree.args.get("from")
    if source is None:
        raise MisfitError("it reads no table", "it needs no access pattern")
    nodes = [source.this, *(join.this for join in tree.args.get("joins") or [])]
    for node in nodes:
        if not isinstance(node, exp.Table):
            raise MisfitError("it reads a subquery", SUBQUERY)
        tables[node.alias_or_name.lower()] = _entity(node, entities)
    scope = Scope(tables)
    conditions: list[exp.Expr] = []
    for join in tree.args.get("joins") or []:
        if join.args.get("using"):
            for name in join.args["using"]:
                joined = [Place(a, c.name) for a, e in tables.items() if (c := e.table.column(name.name))]
                for other in joined[1:]:
                    scope.join(joined[0], other)
        elif join.args.get("on") is not None:
            conditions += conjuncts(join.args["on"])
        elif join.args.get("method") == "NATURAL":
            raise MisfitError("it is a natural join", "name the columns that are joined")
    where = tree.args.get("where")
    conditions += conjuncts(where.this) if where else []
    rest = []
    for condition in conditions:
        if isinstance(condition, exp.EQ) and all(
            isinstance(s, exp.Column) for s in (condition.this, condition.expression)
        ):
            scope.join(scope.place(condition.this), scope.place(condition.expression))
        else:
            rest.append(condition)
    return scope, rest


SUBQUERY = "read in steps: one pattern for the inner query, then one that takes its ids"


def _entity(node: exp.Table, entities: Mapping[str, TableEntity]) -> TableEntity:
    name, full = node.name.lower(), f"{node.db}.{node.name}".lower()
    for table, entity in entities.items():
        if table.lower() in (full, name) or table.rpartition(".")[2].lower() == name:
            return entity
    if not name:
        raise MisfitError(f"it reads the function `{node.sql()[:40]}`", "compute it in the application")
    raise MisfitError(f"it reads `{node.name}`, which is not moved", "see the tables that are left out")


def conjuncts(node: exp.Expr) -> list[exp.Expr]:
    """The conditions that are joined by AND."""
    if isinstance(node, exp.Paren):
        return conjuncts(node.this)
    if isinstance(node, exp.And):
        return [*conjuncts(node.left), *conjuncts(node.right)]
    return [node]
