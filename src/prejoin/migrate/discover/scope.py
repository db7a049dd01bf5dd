"""The tables of a statement, and how they are joined: the columns that are equal, and which table refers to which."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from prejoin.migrate.discover.entities import TableEntity


class MisfitError(Exception):
    """A statement, or a part of it, that no key serves: the reason, and what to do instead."""

    def __init__(self, reason: str, alternative: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.alternative = alternative


@dataclass(frozen=True, slots=True)
class Place:
    """A column of a table in a statement, by the table's alias."""

    alias: str
    column: str


@dataclass(slots=True)
class Scope:
    """The tables of a statement by alias, in their order, and the classes of equal columns."""

    tables: dict[str, TableEntity]
    equal_columns: list[set[Place]] = field(default_factory=list)

    @property
    def aliases(self) -> list[str]:
        return list(self.tables)

    def place(self, column: exp.Column) -> Place:
        """The table and the column that a name refers to."""
        name, qualifier = column.name.lower(), column.table.lower()
        # Without a table in front, it is a column of one table only: the database refuses ambiguous names.
        for alias, entity in self.tables.items():
            table_column = entity.table.column(name)
            if table_column is not None and qualifier in ("", alias):
                return Place(alias, table_column.name)
        raise MisfitError(f"it uses `{column.sql()}`, which is no column of its tables", "check the statement")

    def join(self, first: Place, second: Place) -> None:
        """Notes that two columns are equal, and so all that are equal to one of them."""
        joined_groups = [group for group in self.equal_columns if first in group or second in group]
        separate = [group for group in self.equal_columns if group not in joined_groups]
        self.equal_columns = [*separate, {first, second}.union(*joined_groups)]

    def in_table(self, place: Place, alias: str) -> Place | None:
        """The same value as a column of another table of the statement, if it has one."""
        if place.alias == alias:
            return place
        group = next((group for group in self.equal_columns if place in group), set())
        columns = sorted(equal.column for equal in group if equal.alias == alias)
        return Place(alias, columns[0]) if columns else None

    def attribute(self, place: Place) -> str:
        return self.tables[place.alias].attributes[place.column]

    def qualified_attribute(self, place: Place) -> str:
        """The attribute of a place with its entity, as in `Order.status`."""
        return f"{self.tables[place.alias].name}.{self.attribute(place)}"

    def parents(self, alias: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The tables that one refers to by a joined foreign key, with its columns."""
        for fk in self.tables[alias].table.foreign_keys:
            for parent, entity in self.tables.items():
                is_referred_table = entity.table.name == fk.table and set(entity.table.key) == set(fk.references)
                if parent == alias or not is_referred_table:
                    continue
                pairs = zip(fk.columns, fk.references, strict=True)
                if all(self._are_equal(Place(alias, column), Place(parent, key)) for column, key in pairs):
                    yield parent, fk.columns

    def _are_equal(self, first: Place, second: Place) -> bool:
        return any(first in group and second in group for group in self.equal_columns)

    def reachable_from(self, alias: str) -> set[str]:
        """The tables whose rows follow from a row of one by foreign keys, itself included."""
        reached_aliases, pending = {alias}, [alias]
        while pending:
            for parent, _ in self.parents(pending.pop()):
                if parent not in reached_aliases:
                    reached_aliases.add(parent)
                    pending.append(parent)
        return reached_aliases


def scope_of(tree: exp.Expr, entities: Mapping[str, TableEntity]) -> tuple[Scope, list[exp.Expr]]:
    """The scope of a SELECT, and the conditions of its WHERE and its joins that are no equalities of columns."""
    scope = Scope(_tables_of(tree, entities))
    conditions: list[exp.Expr] = []
    for join in tree.args.get("joins") or []:
        if join.args.get("using"):
            _join_using(scope, join)
        elif join.args.get("on") is not None:
            conditions += conjuncts(join.args["on"])
        elif join.args.get("method") == "NATURAL":
            raise MisfitError("it is a natural join", "name the columns that are joined")
    where_clause = tree.args.get("where")
    conditions += conjuncts(where_clause.this) if where_clause else []
    filters = []
    for condition in conditions:
        # `FROM a, b WHERE a.id = b.a_id` is a join, too: an equality of columns is never a filter.
        if _is_equality_of_columns(condition):
            scope.join(scope.place(condition.this), scope.place(condition.expression))
        else:
            filters.append(condition)
    return scope, filters


def _tables_of(tree: exp.Expr, entities: Mapping[str, TableEntity]) -> dict[str, TableEntity]:
    """The entities of a statement's tables, by alias."""
    source = tree.args.get("from_") or tree.args.get("from")
    if source is None:
        raise MisfitError("it reads no table", "it needs no access pattern")
    tables: dict[str, TableEntity] = {}
    for node in (source.this, *(join.this for join in tree.args.get("joins") or [])):
        if not isinstance(node, exp.Table):
            raise MisfitError("it reads a subquery", SUBQUERY)
        tables[node.alias_or_name.lower()] = _entity_of(node, entities)
    return tables


def _join_using(scope: Scope, join: exp.Expr) -> None:
    """Joins by `USING (name, …)`: the columns of that name are equal in all tables that have them."""
    for name in join.args["using"]:
        places = []
        for alias, entity in scope.tables.items():
            column = entity.table.column(name.name)
            if column is not None:
                places.append(Place(alias, column.name))
        for place in places[1:]:
            scope.join(places[0], place)


def _is_equality_of_columns(condition: exp.Expr) -> bool:
    return (
        isinstance(condition, exp.EQ)
        and isinstance(condition.this, exp.Column)
        and isinstance(condition.expression, exp.Column)
    )


SUBQUERY = "read in steps: one pattern for the inner query, then one that takes its ids"


def _entity_of(node: exp.Table, entities: Mapping[str, TableEntity]) -> TableEntity:
    name, full_name = node.name.lower(), f"{node.db}.{node.name}".lower()
    # The statement, the reflection or both may name the schema.
    for table, entity in entities.items():
        if table.lower() in (full_name, name) or table.rpartition(".")[2].lower() == name:
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
