"""The sections of access patterns, the columns of their tables, and the labels of their lists."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from prejoin.constructs.registry import CONSTRUCTS
from prejoin.workload import codes
from prejoin.workload.conditions import all_leaves, values_of
from prejoin.workload.document.columns import Column, Fields, TableKind
from prejoin.workload.document.markdown import Text
from prejoin.workload.grammar import answers, attributes, inputs, lexer, quantities, statements, values, writes
from prejoin.workload.grammar.lexer import Inexact
from prejoin.workload.model import (
    Experience,
    ItemCollection,
    Read,
    Stability,
    Stage,
    Value,
    Verb,
    Workload,
    Write,
)

SECTIONS = {
    "Domain Overview": ("Overview", "Domain"),
    "Context": (),
    "Entities": ("Entity",),
    "Access Patterns": ("Patterns",),
    "Reads": ("Read Patterns", "Read"),
    "Writes": ("Write Patterns", "Write"),
    "Deletes": ("Delete Patterns", "Delete"),
    "Item Collection Candidates": ("Item Collections",),
    "Decisions": ("Decisions and Pins", "Pins"),
    "Notes": (),
}
"""The sections with their synonyms."""
NONE = frozenset({"-", "–", "—", "n/a", "none"})
"""Cells for "none". An empty cell means "not said"."""


def bare_label(labels: Iterable[Column]) -> re.Pattern[str]:
    """A known label without the stars, or with other marks: `Attributes:`, `__Attributes__:`, `*Attributes*:`."""
    names = "|".join(label.name for label in labels)
    return re.compile(rf"[*_]{{0,2}}({names})(?:[*_]{{0,2}}\s*:[*_]{{0,2}}|[*_]{{1,2}})\s*", re.IGNORECASE)


def read_line(text: str) -> str:
    return "" if text in NONE else Text(text, 0, 0).lines()


def write_yes_no(value: bool) -> str:
    return "Yes" if value else "No"


# --- Patterns -------------------------------------------------------------------------------------------------------


def _input_names(fields: Fields) -> tuple[frozenset[str]]:
    """The names of the inputs, which in actions and conditions are no constants."""
    return (frozenset(parameter.attribute for parameter in fields.get("inputs", ())),)


def _action_context(fields: Fields) -> tuple[frozenset[str], Verb]:
    """The names of the inputs, and the verb that the description suggests, for the advice in a diagnostic."""
    changing = re.match(
        r"\s*(update|change|edit|set|rename|mark|increment|decrement|move)",
        fields.get("description", ""),
        re.IGNORECASE,
    )
    return (*_input_names(fields), Verb.UPDATE if changing else Verb.CREATE)


def _attribute_names(pattern: Read | Write, workload: Workload) -> tuple[frozenset[str]]:
    """Attributes of a pattern's entities: a constant of such a name is in quotes, because it is not the attribute."""
    names: set[str] = set()
    for entity in workload.entities_named(pattern.entity_names):
        names.update(entity.types)
    # An input that is missing is written `:name`, which only a name that is not among them is.
    names.difference_update(value.param for value in _values_in(pattern) if value.param)
    return (frozenset(names),)


def _values_in(pattern: Read | Write) -> Iterator[Value]:
    """What the inputs, conditions and changes of a pattern compare with or set."""
    for input_ in pattern.inputs:
        yield from input_.values
    if isinstance(pattern, Read):
        return
    for leaf in all_leaves(pattern):
        yield from values_of(leaf)
    for change in pattern.changes:
        if change.value:
            yield change.value


def _variable_names(pattern: Write, workload: Workload) -> tuple[frozenset[str]]:
    """Names that are no constants in a write: of inputs and of attributes."""
    (names,) = _attribute_names(pattern, workload)
    return (names | pattern.input_names,)


ID = Column("ID", ("id",), read_line, is_required=True)
NAME = Column("Name", ("name",), read_line, if_used=True)
DESCRIPTION = Column("Description", ("description",), read_line)
ENTITY = Column(
    "Entity",
    ("entities",),
    lexer.read_names,
    lexer.write_names,
    codes.UNKNOWN_ENTITY,
    ("Entities",),
    is_required=True,
)
INPUTS = Column(
    "Input Parameters",
    ("inputs",),
    inputs.read_inputs,
    inputs.write_inputs,
    codes.INPUTS,
    ("Input", "Inputs", "Parameters", "Input Parameter"),
    empty="-",
    write_context=_attribute_names,
)
FREQUENCY = Column("Frequency", ("rate",), quantities.read_rate, quantities.write_rate, codes.RATE, ("Rate",))
RESULT = Column(
    "Result",
    ("result", "needs", "limit"),
    answers.read_result,
    answers.write_result,
    codes.RESULT,
    ("Result Type", "Returns"),
    is_required=True,
)
SORT = Column(
    "Sort",
    ("sort",),
    answers.read_sort,
    answers.write_sort,
    codes.SORT,
    ("Sort Required", "Order", "Sort Order"),
    empty="-",
)
PAGINATED = Column(
    "Paginated",
    ("paginated", "page"),
    answers.read_page,
    answers.write_page,
    codes.PAGE,
    ("Pagination", "Pages"),
)
CONSISTENCY = Column("Consistency", ("consistency",), answers.read_consistency, str, codes.CONSISTENCY)
MULTI_ENTITY = Column(
    "Multi-Entity",
    ("combine", "via"),
    answers.read_combine,
    answers.write_combine,
    codes.COMBINE,
    ("Multi Entity", "MultiEntity", "Multiple Entities"),
)
ITEMS_WRITTEN = Column(
    "Items Written",
    ("actions",),
    writes.read_actions,
    writes.write_actions,
    codes.ACTIONS,
    ("Items Deleted", "Items", "Writes"),
    is_required=True,
    read_context=_action_context,
    write_context=_variable_names,
)
ITEMS_DELETED = replace(
    ITEMS_WRITTEN,
    name="Items Deleted",
    synonyms=("Items Written", "Items", "Deletes"),
    read_context=lambda fields: (*_input_names(fields), Verb.DELETE),
)
TRANSACTION = Column(
    "Transaction",
    ("atomic",),
    answers.read_yes_no,
    write_yes_no,
    codes.TRANSACTION,
    ("Transactional", "Atomic"),
)
CONDITIONS = Column(
    "Conditions",
    ("checks",),
    writes.read_checks,
    writes.write_checks,
    codes.CONDITIONS,
    ("Condition",),
    empty="-",
    read_context=_input_names,
    write_context=_variable_names,
)
_HEAD = (ID, ENTITY, DESCRIPTION, INPUTS)
READS = TableKind(
    "reads",
    (*_HEAD, RESULT, SORT, PAGINATED, FREQUENCY, CONSISTENCY, MULTI_ENTITY, NAME),
    partial(Read, id=""),
)
WRITES = TableKind("writes", (*_HEAD, ITEMS_WRITTEN, TRANSACTION, CONDITIONS, FREQUENCY, NAME), partial(Write, id=""))
DELETES = TableKind("deletes", (*_HEAD, ITEMS_DELETED, TRANSACTION, CONDITIONS, FREQUENCY, NAME), partial(Write, id=""))
PATTERN_TABLES = (READS, WRITES, DELETES)
MEANING = frozenset(column.name for column in (ENTITY, INPUTS, RESULT, ITEMS_WRITTEN, ITEMS_DELETED, CONDITIONS))
"""The columns that checks compare with one another."""


# --- Collections ----------------------------------------------------------------------------------------------------


def _read_ids(text: str) -> tuple[str, ...]:
    return tuple(text.replace(",", " ").replace(";", " ").split())


COLLECTIONS = TableKind(
    "collections",
    (
        Column("Group", ("name",), read_line, synonyms=("Collection", "Item Collection", "Name"), is_required=True),
        Column(
            "Entities", ("entities",), lexer.read_names, lexer.write_names, codes.WORDING, ("Entity",), is_required=True
        ),
        Column("Access Patterns", ("patterns",), _read_ids, ", ".join, codes.WORDING, ("Patterns",)),
        Column("Rationale", ("text",), read_line, synonyms=("Reason", "Why")),
    ),
    partial(ItemCollection, name=""),
)
TABLES = {"Reads": READS, "Writes": WRITES, "Deletes": DELETES, "Item Collection Candidates": COLLECTIONS}
"""The tables by their sections."""


# --- Entities -------------------------------------------------------------------------------------------------------


def _entity_name(fields: Fields) -> tuple[str]:
    return (fields["name"],)


def _write_former_name(name: str) -> str:
    return lexer.write_name(name) if name else ""


ATTRIBUTES = Column(
    "Attributes", ("attributes",), attributes.read_attribute, attributes.write_attribute, codes.ATTRIBUTE
)
"""A list, with an attribute in each line."""
RELATIONSHIPS = Column(
    "Relationships",
    ("relationships",),
    statements.read_relationship,
    statements.write_relationship,
    codes.RELATIONSHIP,
    ("Relationship", "Relations"),
)
"""A list, with a relationship in each line."""
ENTITY_LABELS = (
    Column("Description", ("description",)),
    ATTRIBUTES,
    RELATIONSHIPS,
    Column(
        "Cardinality",
        ("singleton", "cardinality"),
        quantities.read_cardinality,
        quantities.write_cardinality,
        codes.QUANTITY,
        ("Volume", "Count"),
        place="cardinality",
        read_context=_entity_name,
    ),
    Column("Size", ("size",), quantities.read_size, quantities.write_size, codes.QUANTITY, ("Item size",)),
    Column("Retention", ("retention",), values.read_retention, quantities.write_span, codes.QUANTITY, ("Kept for",)),
    *(Column(line.grammar.label, (line.name,), line.read, line.write, codes.QUANTITY.as_error) for line in CONSTRUCTS),
    Column("Unique", ("unique",), lexer.read_name_groups, lexer.write_name_groups, codes.WORDING.as_error),
    Column("Excludes", ("excludes",), lexer.read_names, lexer.write_names, codes.WORDING.as_error),
    Column("Owner", ("owner",)),
    Column("Lifecycle", ("lifecycle",)),
    Column("Renamed from", ("renamed_from",), lexer.read_former_name, _write_former_name, codes.WORDING.as_error),
)


# --- Context --------------------------------------------------------------------------------------------------------


def _read_share(text: str) -> float:
    match = re.fullmatch(r"~?\s*(\d{1,3}(?:\.\d{1,6})?)\s*%", text.strip(), re.ASCII)
    if not match or float(match[1]) > 100:
        raise Inexact(f"`{text}` is not a share", "write per cent: `10%`", 0, text)
    return float(match[1])


def _read_choice(kind: type[Stage] | type[Stability] | type[Experience]) -> Callable[[str], Any]:
    def read(text: str) -> object:
        try:
            return kind(text.strip().lower())
        except ValueError:
            choices = " or ".join(f"`{choice.value}`" for choice in kind)
            raise Inexact(f"`{text}` is not one of the choices", f"write {choices}", 0, text) from None

    return read


CONTEXT_LABELS = (
    Column("Teams", ("teams",), quantities.read_count, str, codes.WORDING),
    Column("Stage", ("stage",), _read_choice(Stage), str, codes.WORDING),
    Column("Access patterns", ("patterns",), _read_choice(Stability), str, codes.WORDING, ("Patterns",)),
    Column("Analytics", ("analytics",), _read_share, "{:g}%".format, codes.WORDING),
    Column("Ad-hoc queries", ("ad_hoc",), answers.read_yes_no, write_yes_no, codes.WORDING),
    Column("GraphQL", ("graphql",), answers.read_yes_no, write_yes_no, codes.WORDING),
    Column("Experience", ("experience",), _read_choice(Experience), str, codes.WORDING),
    # To ignore the line of the tenant would give a table without tenants.
    Column("Tenant", ("tenant",), statements.read_tenant, statements.write_tenant, codes.TENANTS),
)
