"""A SELECT as an access pattern. A statement that no key can answer raises `MisfitError`, with an alternative."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import assert_never

from sqlglot import exp

from prejoin.migrate.discover.conditions import ConditionReader, SqlCondition, inputs_of
from prejoin.migrate.discover.entities import TableEntity
from prejoin.migrate.discover.scope import SUBQUERY, MisfitError, Scope, scope_of
from prejoin.migrate.queries.statement import Statement, quoted_sql, sql_of
from prejoin.workload.model import (
    Combine,
    Consistency,
    Direction,
    Input,
    Op,
    Pattern,
    Read,
    Result,
    Sort,
)
from prejoin.workload.stubs import plural

WAREHOUSE = "keep totals up to date with each write (a counter on the parent), or run it on an export of the table"
_LOW, _HIGH = "_low", "_high"


@dataclass(frozen=True, slots=True)
class DiscoveredPattern:
    """An access pattern that a statement became."""

    pattern: Pattern
    sql: str
    """The statement, its parameters named after the inputs; empty if it cannot be run with the pattern's arguments."""
    quoted_sql: str
    """The statement as it is shown."""
    notes: tuple[str, ...] = ()
    column_changes: frozenset[tuple[str, str]] = frozenset()
    """Columns that a write changes, with their tables."""


@dataclass(frozen=True, slots=True)
class SelectFacts:
    """What the clauses of a SELECT say, before they become an access pattern."""

    tree: exp.Select
    scope: Scope
    roles: JoinRoles
    conditions: list[SqlCondition]
    """The conditions as the statement has them."""
    main_conditions: list[SqlCondition]
    """The same conditions, each on the column of the main table that has the same value."""
    inputs: list[Input]
    sort: list[Sort]
    result: Result
    is_extreme: bool
    """Whether it asks for MAX or MIN: the first item of an order."""
    window: RowWindow

    @property
    def entity(self) -> TableEntity:
        return self.scope.tables[self.roles.main]

    @property
    def combine(self) -> Combine | None:
        if self.roles.children:
            return Combine.COLLECTION
        return Combine.JOIN if self.roles.parents else None

    @property
    def entity_names(self) -> tuple[str, ...]:
        """The entities of the pattern: the main one, then those that are read with it."""
        aliases = (self.roles.main, *self.roles.children, *self.roles.parents)
        return tuple(self.scope.tables[alias].name for alias in aliases)

    @property
    def is_paged(self) -> bool:
        """Whether the result comes in pages: it starts at an offset, or the size of the page is an argument."""
        has_variable_limit = self.window.is_limited and self.window.size is None
        return self.result is Result.MANY and (self.window.has_offset or has_variable_limit)


def read_pattern(statement: Statement, entities: Mapping[str, TableEntity], dialect: str) -> DiscoveredPattern:
    """The pattern of a SELECT."""
    shown_sql = quoted_sql(statement, dialect)
    tree = _read_tree(statement)
    scope, filters = scope_of(tree, entities)
    reader = ConditionReader(statement, scope)
    conditions = [condition for node in filters if (condition := reader.read(node)) is not None]
    facts = _read_select(tree, scope, conditions, statement)
    notes = [*reader.notes, *_notes(facts)]
    read = _read_of(facts)
    sql = _runnable_sql(facts, dialect)  # the last step, because it changes the tree
    return DiscoveredPattern(read, sql, shown_sql, tuple(dict.fromkeys(notes)))


def _read_tree(statement: Statement) -> exp.Select:
    """A copy of the statement's SELECT; of `SELECT EXISTS (SELECT …)`, the inner one."""
    tree = statement.tree.copy()
    if isinstance(tree, exp.Select) and not tree.args.get("from_") and len(tree.expressions) == 1:
        column = tree.expressions[0].unalias()
        if isinstance(column, exp.Exists) and isinstance(column.this, exp.Select):
            tree = column.this
    if not isinstance(tree, exp.Select):
        raise MisfitError("it combines several queries", "one access pattern for each; merge in the application")
    _refuse_analytics(tree)
    return tree


def _read_select(tree: exp.Select, scope: Scope, conditions: list[SqlCondition], statement: Statement) -> SelectFacts:
    """Reads the clauses of a SELECT. Each of them may raise MisfitError; the first one that does names the reason."""
    counts, extreme_sort = _read_aggregate(tree, scope)
    roles = _join_roles(tree, scope, conditions)
    main_conditions = [_on_table(condition, roles.main, scope) for condition in conditions]
    sort = extreme_sort or _read_sort(tree, scope, roles)
    inputs = inputs_of(main_conditions, scope, sort[0].attribute if sort else "")
    _refuse_repeated_inputs(inputs)
    if counts:
        result = Result.COUNT
    elif not roles.children and _is_single(scope.tables[roles.main], main_conditions, scope):
        result = Result.ONE
    else:
        result = Result.MANY
    return SelectFacts(
        tree,
        scope,
        roles,
        conditions,
        main_conditions,
        inputs,
        sort,
        result,
        bool(extreme_sort),
        _read_window(tree, statement),
    )


def _is_single(entity: TableEntity, conditions: Sequence[SqlCondition], scope: Scope) -> bool:
    """Whether the conditions fix the id of an entity, or one of its unique constraints."""
    fixed_attributes = {scope.attribute(condition.place) for condition in conditions if condition.is_equality}
    unique = [tuple(entity.attributes[column] for column in columns) for columns in entity.table.unique]
    return any(fixed_attributes.issuperset(attributes) for attributes in (entity.id, *unique))


def _read_of(facts: SelectFacts) -> Read:
    """The access pattern, without an id and a rate."""
    is_many = facts.result is Result.MANY
    constant_limit = None if facts.is_paged else facts.window.size
    limit = constant_limit if is_many else None
    has_own_needs = is_many and facts.combine is None and not facts.is_extreme
    return Read(
        "",
        entities=facts.entity_names,
        description=_description(facts, constant_limit),
        inputs=tuple(facts.inputs),
        result=facts.result,
        needs=_needs(facts) if has_own_needs else (),
        # MAX and MIN are the attribute of the first item in that order: one item is read, and nothing is computed.
        limit=1 if facts.is_extreme else limit,
        sort=tuple(facts.sort) if is_many else (),
        paginated=facts.is_paged if facts.result is not Result.COUNT else None,
        page=facts.window.size if facts.is_paged else None,
        # FOR UPDATE wants the newest row before a write. DynamoDB has no locks: a strongly consistent read is nearest.
        consistency=Consistency.STRONG if facts.tree.args.get("locks") else None,
        combine=facts.combine,
        via=facts.roles.via if facts.combine is Combine.JOIN else "",
    )


def _notes(facts: SelectFacts) -> Iterator[str]:
    """The points in which the pattern differs from the statement, and what they cost."""
    scope, roles = facts.scope, facts.roles
    if roles.unread:
        names = " and ".join(scope.tables[alias].name for alias in roles.unread)
        yield f"the joined {names} needs a second request, or a copy of its attributes on the item"
    # A key condition has BETWEEN for two ends, which includes both.
    ranges = {item.attribute for item in facts.inputs if item.op is Op.BETWEEN}
    for condition in facts.main_conditions:
        attribute = scope.attribute(condition.place)
        if condition.op in (Op.LT, Op.GT) and attribute in ranges:
            yield f"the range of `{attribute}` includes both ends; the statement leaves one out"
    if facts.window.has_offset and facts.result is Result.MANY:
        yield "OFFSET becomes a cursor: pages follow each other, and a page cannot be reached by its number"
    if not facts.inputs and facts.result is not Result.ONE and not facts.window.is_limited:
        yield "it reads all items"
    if roles.parents:
        name = scope.tables[roles.parents[0]].name
        yield f"the {name} of each item takes a second request; copies of its attributes would save it"


def _refuse_analytics(tree: exp.Select) -> None:
    if tree.args.get("with_") or tree.args.get("with"):
        raise MisfitError("it is a query with WITH", SUBQUERY)
    if tree.find(exp.Window):
        raise MisfitError("it computes over other rows (a window function)", WAREHOUSE)
    if tree.args.get("group") or tree.args.get("having"):
        raise MisfitError("it groups rows (GROUP BY)", WAREHOUSE)
    if tree.args.get("distinct"):
        raise MisfitError(
            "it finds distinct values (DISTINCT)", "keep the values as items of their own, written with the rows"
        )
    if any(select is not tree for select in tree.find_all(exp.Select)):
        raise MisfitError("it has a subquery", SUBQUERY)


def _refuse_repeated_inputs(inputs: Sequence[Input]) -> None:
    """Refuses two inputs of one attribute. Two ends of a range are one input by now."""
    counts = Counter(item.attribute for item in inputs)
    for attribute, count in counts.items():
        if count > 1:
            raise MisfitError(
                f"it has two conditions on `{attribute}`", "give one of them, and check the other in the application"
            )


def _read_aggregate(tree: exp.Select, scope: Scope) -> tuple[bool, list[Sort]]:
    """Whether it counts; and for MAX or MIN of one column, the order whose first item has it."""
    functions = [function for column in tree.expressions for function in column.find_all(exp.AggFunc)]
    if not functions:
        return False, []
    if len(functions) == 1 and len(tree.expressions) == 1:
        (function,) = functions
        if isinstance(function, exp.Count) and not function.find(exp.Distinct):
            return True, []
        if isinstance(function, exp.Max | exp.Min) and isinstance(function.this, exp.Column):
            direction = Direction.DESC if isinstance(function, exp.Max) else Direction.ASC
            return False, [Sort(scope.attribute(scope.place(function.this)), direction)]
    names = sorted({type(function).__name__.upper() for function in functions})
    raise MisfitError(f"it computes {', '.join(names)}", WAREHOUSE)


# --- Joins ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class JoinRoles:
    """What each table of a SELECT is for, by alias.

    A join is one of three things. Children of a row whose key is given are read with it, as a collection. A parent of
    each row is a join in the sense of the document. A table that gives no columns only passes a condition on.
    """

    main: str
    children: tuple[str, ...] = ()
    """Tables that are read together with the main one: its children."""
    parents: tuple[str, ...] = ()
    """A parent that each row of the main table is joined with."""
    via: str = ""
    """The attribute of the main entity that refers to the parent."""
    unread: tuple[str, ...] = ()
    """Joined tables that the pattern leaves to another request."""


def _join_roles(tree: exp.Select, scope: Scope, conditions: Sequence[SqlCondition]) -> JoinRoles:
    if len(scope.tables) == 1:
        return JoinRoles(scope.aliases[0])
    returned_aliases = _returned_tables(tree, scope)
    for alias in scope.aliases:
        # A collection goes first, because it takes one request, and a join two.
        roles = _collection_of(alias, scope, conditions, returned_aliases)
        if roles is not None:
            return roles
    main = _table_that_refers_to_all(scope)
    _refuse_conditions_on_other_items(conditions, scope, main)
    parents = tuple(alias for alias in scope.aliases if alias in returned_aliases and alias != main)
    foreign_keys = dict(scope.parents(main))
    if len(parents) == 1 and len(foreign_keys.get(parents[0], ())) == 1:
        (column,) = foreign_keys[parents[0]]
        return JoinRoles(main, parents=parents, via=scope.tables[main].attributes[column])
    return JoinRoles(main, unread=parents)


def _collection_of(
    alias: str, scope: Scope, conditions: Sequence[SqlCondition], returned_aliases: Set[str]
) -> JoinRoles | None:
    """A row of one table with its children, if the conditions fix the row's key and nothing else is compared."""
    if alias not in returned_aliases:
        return None
    places = [scope.in_table(condition.place, alias) for condition in conditions]
    fixed_columns = {
        place.column
        for place, condition in zip(places, conditions, strict=True)
        if place is not None and condition.is_equality
    }
    children = tuple(child for child in scope.aliases if child in returned_aliases and _is_child(child, alias, scope))
    if not children or None in places or not fixed_columns.issuperset(scope.tables[alias].table.key):
        return None
    unread = tuple(other for other in scope.aliases if other in returned_aliases and other not in (alias, *children))
    return JoinRoles(alias, children, unread=unread)


def _is_child(alias: str, parent: str, scope: Scope) -> bool:
    return alias != parent and any(other == parent for other, _ in scope.parents(alias))


def _table_that_refers_to_all(scope: Scope) -> str:
    """The table whose rows determine those of all other tables, by foreign keys."""
    for alias in scope.aliases:
        if scope.reachable_from(alias) == set(scope.aliases):
            return alias
    names = ", ".join(entity.name for entity in scope.tables.values())
    raise MisfitError(f"it joins {names} in a way that foreign keys do not say", "read one entity after the other")


def _refuse_conditions_on_other_items(conditions: Iterable[SqlCondition], scope: Scope, main: str) -> None:
    name = scope.tables[main].name
    for condition in conditions:
        if scope.in_table(condition.place, main) is None:
            other = scope.qualified_attribute(condition.place)
            raise MisfitError(
                f"it finds {plural(name)} by `{other}`, which is on another item",
                f"copy the attribute to {name} (`copy of {other}`) and index it, or read in two requests",
            )


def _returned_tables(tree: exp.Select, scope: Scope) -> set[str]:
    """The tables that the statement returns columns of."""
    aliases: set[str] = set()
    for expression in tree.expressions:
        if isinstance(expression, exp.Star):
            return set(scope.aliases)
        for column in expression.find_all(exp.Column):
            if isinstance(column.this, exp.Star):
                aliases.add(column.table.lower())
            else:
                aliases.add(scope.place(column).alias)
    return aliases


def _on_table(condition: SqlCondition, alias: str, scope: Scope) -> SqlCondition:
    """A condition on the column of another table that has the same value."""
    place = scope.in_table(condition.place, alias)
    assert place is not None  # `_join_roles` checked it
    return replace(condition, place=place)


# --- Parts ----------------------------------------------------------------------------------------------------------


def _read_sort(tree: exp.Select, scope: Scope, roles: JoinRoles) -> list[Sort]:
    order = tree.args.get("order")
    keys = [_sort_key(term, scope, roles) for term in order.expressions] if order else []
    if roles.children:  # of several entities, the children have an order
        return [key for key in keys if "." in key.attribute]
    return keys


def _sort_key(term: exp.Ordered, scope: Scope, roles: JoinRoles) -> Sort:
    """One term of an ORDER BY. Attributes of a child are written with the name of its entity."""
    column = term.this
    if not isinstance(column, exp.Column):
        raise MisfitError(f"it sorts by `{column.sql()[:40]}`", "store what it sorts by as an attribute")
    try:
        place = scope.place(column)
    except MisfitError:
        raise MisfitError(f"it sorts by `{column.name}`, which is computed", "store it as an attribute") from None
    direction = Direction.DESC if term.args.get("desc") else Direction.ASC
    main_place = scope.in_table(place, roles.main)
    if main_place is not None:
        return Sort(scope.attribute(main_place), direction)
    attribute = scope.qualified_attribute(place)
    if place.alias not in roles.children:
        raise MisfitError(f"it sorts by `{attribute}`, which is on another item", f"copy `{attribute}` to the item")
    return Sort(attribute, direction)


@dataclass(frozen=True, slots=True)
class RowWindow:
    """The LIMIT and OFFSET of a statement."""

    is_limited: bool
    has_offset: bool
    size: int | None
    """The limit, if it is always the same."""


def _read_window(tree: exp.Select, statement: Statement) -> RowWindow:
    limit, offset = tree.args.get("limit"), tree.args.get("offset")
    # FETCH FIRST n ROWS has `count`, LIMIT n has `expression`.
    size = limit.args.get("expression") or limit.args.get("count") if limit else None
    digits = statement.constant(size.name) if isinstance(size, exp.Placeholder) else None
    constant_size = int(digits) if digits and digits.isdigit() else 0
    start = offset.args.get("expression") if offset else None
    is_first_page = isinstance(start, exp.Placeholder) and statement.constant(start.name) == "0"
    has_offset = offset is not None and not is_first_page
    return RowWindow(limit is not None, has_offset, constant_size or None)


def _needs(facts: SelectFacts) -> tuple[str, ...]:
    """The attributes that are read, if they are less than half of the item; else none, which means all."""
    entity, scope = facts.entity, facts.scope
    names = set(entity.id)
    for expression in facts.tree.expressions:
        if expression.find(exp.Star):
            return ()
        for column in expression.find_all(exp.Column):
            place = scope.place(column)
            if place.alias == facts.roles.main:
                names.add(scope.attribute(place))
    if len(names) * 2 > len(entity.attributes):
        return ()
    return tuple(attribute for attribute in entity.attributes.values() if attribute in names)


def _description(facts: SelectFacts, limit: int | None) -> str:
    """A sentence, which methods of the generated code are named after."""
    main, *joined_names = facts.entity_names
    items = main if facts.combine is Combine.COLLECTION else plural(main)
    match facts.result:
        case Result.ONE:
            words = main
        case Result.COUNT:
            words = f"Count {items}"
        case Result.MANY:
            words = f"First {limit} {items}" if limit else items
        case _:
            assert_never(facts.result)
    if joined_names:
        words += f" with {' and '.join(map(plural, joined_names))}"
    if facts.inputs:
        words += f" by {' and '.join(map(_input_words, facts.inputs))}"
    elif facts.result is Result.MANY and not limit:
        words = f"All {words}"
    if facts.sort and facts.result is Result.MANY:
        words += f", by {' and '.join(map(_sort_words, facts.sort))}"
    return words


def _sort_words(sort: Sort) -> str:
    return f"{sort.attribute} descending" if sort.direction is Direction.DESC else sort.attribute


def _input_words(item: Input) -> str:
    """An input in a description. One piece, because it says the words of each operator."""
    if item.op is Op.EQ and item.values and item.values[0].const is not None:
        return f"{item.attribute} {item.values[0].const}"
    if item.many:
        return f"{item.attribute}s"
    match item.op:
        case Op.EQ | Op.CONTAINS:
            return item.attribute
        case Op.BETWEEN:
            return f"{item.attribute} range"
        case Op.LT:
            return f"{item.attribute} below"
        case Op.LE:
            return f"{item.attribute} up to"
        case Op.GT:
            return f"{item.attribute} above"
        case Op.GE:
            return f"{item.attribute} from"
        case Op.NE:
            return f"{item.attribute} other than"
        case Op.EXISTS:
            return f"{item.attribute} present"
        case Op.NOT_EXISTS:
            return f"{item.attribute} absent"
        case Op.BEGINS_WITH:
            return f"{item.attribute} prefix"
        case Op.IN:
            return f"{item.attribute} among"
        case _:
            assert_never(item.op)


# --- The statement with the names of the inputs -----------------------------------------------------------------------


def _runnable_sql(facts: SelectFacts, dialect: str) -> str:
    """The statement with parameters that are named after the inputs, without its limit: for `migrate verify`.

    `WHERE user_id = :p1 AND placed_at >= :p2 AND placed_at < :p3 LIMIT :p4` becomes
    `WHERE user_id = :user_id AND placed_at >= :placed_at_low AND placed_at <= :placed_at_high`. Empty if the arguments
    of the pattern do not say the values of all parameters.
    """
    is_exact = all(condition.exact for condition in facts.conditions) and facts.combine is not Combine.COLLECTION
    if not is_exact:
        return ""
    attributes = [facts.scope.attribute(condition.place) for condition in facts.main_conditions]
    names: Counter[str] = Counter()
    for attribute, condition in zip(attributes, facts.conditions, strict=True):
        has_two_ends = attributes.count(attribute) > 1 or condition.op is Op.BETWEEN
        names.update(_name_parameters(condition, attribute, has_two_ends))
    if any(count > 1 for count in names.values()):
        return ""
    for clause in ("limit", "offset", "locks"):
        facts.tree.set(clause, None)
    return "" if _has_unnamed_parameter(facts.tree) else sql_of(facts.tree, dialect)


def _name_parameters(condition: SqlCondition, attribute: str, has_two_ends: bool) -> Iterator[str]:
    """Names the parameters of a condition in its tree, writes its constants out, and yields the names."""
    if has_two_ends and condition.op in (Op.LT, Op.GT):
        _include_end(condition.nodes[0])
    # `strict=False`: a bare boolean column has the value `true`, and no node for it.
    for index, (value, node) in enumerate(zip(condition.values, condition.nodes, strict=False)):
        if value is None:
            name = _parameter_name(attribute, condition.op, index) if has_two_ends else attribute
            _replace_placeholder(node, exp.Placeholder(this=name))
            yield name
        elif value.const is not None:
            _replace_placeholder(node, _literal(value.const))


def _parameter_name(attribute: str, op: Op, index: int) -> str:
    """The parameter for one end of a range; `index` tells the two values of BETWEEN apart."""
    if op is Op.EQ:
        return attribute
    is_high = op in (Op.LT, Op.LE) or index == 1
    return attribute + (_HIGH if is_high else _LOW)


def _include_end(node: exp.Expr) -> None:
    """Makes `<` of a comparison `<=`, as the range of the pattern has it."""
    comparison = node.find_ancestor(exp.LT, exp.GT)
    if comparison is not None:
        kind: type[exp.Expr] = exp.LTE if isinstance(comparison, exp.LT) else exp.GTE
        comparison.replace(kind(this=comparison.this, expression=comparison.expression))


def _literal(constant: str) -> exp.Expr:
    if constant in ("true", "false"):
        return exp.Boolean(this=constant == "true")
    return exp.Literal.string(constant)


def _replace_placeholder(node: exp.Expr, replacement: exp.Expr) -> None:
    placeholder = node if isinstance(node, exp.Placeholder) else node.find(exp.Placeholder)
    if placeholder is not None:
        placeholder.replace(replacement)


def _has_unnamed_parameter(tree: exp.Expr) -> bool:
    """Whether a parameter is left that belongs to no input: still `:p1`, as the parser named it."""
    return any(node.name[:1] == "p" and node.name[1:].isdigit() for node in tree.find_all(exp.Placeholder))
