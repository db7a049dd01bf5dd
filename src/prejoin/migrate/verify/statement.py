"""Compare a read with its SQL statement.

Arguments are taken from sampled rows. The statement gives the keys of the rows that the answer should have, in the
order that it should have them; each row is then read and converted as a load would.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

import sqlglot
from sqlglot import exp

from prejoin.migrate.mapping.rows import EntityRows, Row, RowError
from prejoin.migrate.migration import Migration
from prejoin.migrate.queries.statement import DIALECTS, sql_of
from prejoin.migrate.verify.compare import (
    ItemDifference,
    KeyedValues,
    Values,
    attribute_differences,
    canonical,
    canonical_text,
    compare_items,
    shown,
    shown_key,
)
from prejoin.migrate.verify.sides import (
    MAX_ITEMS,
    Sample,
    Sides,
    has_next_page,
    id_of,
    pattern_difference,
    records_of,
)
from prejoin.render.python.method import InputValue, Method
from prejoin.workload.model import Combine, Input, Op, Read, Result
from prejoin.workload.program.resolved_read import Join, resolve_read

_MAX_ROWS = 2 * MAX_ITEMS
"""Rows of a statement that are read: more than items, because some rows did not become any."""
_OTHER_SAMPLE = 7
"""How far the sample is that gives the other end of a range, and the other member of a list."""
_KEY_COLUMN = "prejoin_k"


class StatementComparison:
    """A read by its method, and by its statement."""

    def __init__(self, sides: Sides, read: Read, method: Method, sql: str) -> None:
        self.sides = sides
        self.migration = sides.migration
        self.snapshot = sides.snapshot
        self.read = read
        self.method = method
        self.rows: EntityRows = self.migration.of(read.entities[0])
        self.entity = self.rows.entity
        # Only the key is selected: the values are read by the mapping, whatever columns the statement has.
        tree = sqlglot.parse_one(sql, dialect=DIALECTS[self.snapshot.dialect])
        self.is_extreme = any(column.find(exp.Max, exp.Min) for column in tree.expressions)
        """Whether it computes MAX or MIN, which the first item of the answer has."""
        has_keys = not self.is_extreme and read.result is not Result.COUNT
        self.sql = self._select_keys(tree) if has_keys else sql

    def _select_keys(self, tree: exp.Expr) -> str:
        """The statement, with the key of the entity's table as its columns."""
        if self.read.combine is Combine.JOIN:
            for join in tree.find_all(exp.Join):  # the method also returns items that refer to nothing
                join.set("side", "LEFT")
        table_name = self.rows.mapping.table.rpartition(".")[2].lower()
        table = next(table for table in tree.find_all(exp.Table) if table.name.lower() == table_name)
        columns = []
        for at, name in enumerate(self.rows.key):
            column = exp.column(exp.to_identifier(name, quoted=True), table=table.alias_or_name)
            columns.append(exp.alias_(column, f"{_KEY_COLUMN}{at}"))
        tree.set("expressions", columns)
        return sql_of(tree, self.snapshot.dialect)

    # --- Arguments --------------------------------------------------------------------------------------------------

    def cases(self, samples: Sequence[Sample]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
        """Arguments of the method, and the same as parameters of the statement."""
        inputs = self._inputs_with_values()
        seen_arguments = set()
        for at, sample in enumerate(samples):
            other_sample = samples[(at + _OTHER_SAMPLE) % len(samples)]
            case = self._case(inputs, sample, other_sample)
            if case is not None:
                text = canonical_text(case[0])
                if text not in seen_arguments:
                    seen_arguments.add(text)
                    yield case
            if not self.method.params or not inputs:
                return  # the same call for each sample

    def _inputs_with_values(self) -> dict[str, Input]:
        """The inputs that the caller gives, by attribute; the first one of each attribute."""
        inputs: dict[str, Input] = {}
        for read_input in self.read.inputs:
            if not read_input.constant and read_input.op not in (Op.EXISTS, Op.NOT_EXISTS):
                inputs.setdefault(read_input.attribute, read_input)
        return inputs

    def _case(
        self, inputs: Mapping[str, Input], sample: Sample, other_sample: Sample
    ) -> tuple[dict[str, Any], dict[str, Any]] | None:
        """Arguments and parameters from a sample; None if its row lacks one of them."""
        arguments: dict[str, Any] = {}
        parameters: dict[str, Any] = {}
        for param in self.method.params:
            meaning = param.meaning
            if not isinstance(meaning, InputValue):
                continue
            read_input = inputs.get(meaning.input)
            pair = _argument(meaning, read_input, sample, other_sample) if read_input else None
            if pair is None:
                return None
            arguments[param.name], parameter = pair
            parameters[f"{meaning.input}_{meaning.end}" if meaning.end else meaning.input] = parameter
        return arguments, parameters

    # --- Answers ----------------------------------------------------------------------------------------------------

    def compare(self, arguments: dict[str, Any], parameters: dict[str, Any]) -> list[ItemDifference]:
        """Compares the answers for one case."""
        argument_texts = [f"{name}={shown_key([value])}" for name, value in arguments.items()]
        place = f"{self.read.id} ({', '.join(argument_texts) or 'no arguments'})"
        parameters = {name: value for name, value in parameters.items() if f":{name}" in self.sql}
        answer = self.sides.call(self.method, arguments)
        if self.is_extreme:
            extreme = self.snapshot.value(self.sql, parameters)
            return list(self._compare_extreme(place, extreme, records_of(answer)))
        joined_answers: Sequence[Mapping[Any, Any]] = ()
        if self.read.combine is Combine.JOIN:
            answer, *joined_answers = answer
        if self.read.result is Result.COUNT:
            row_count = int(self.snapshot.value(self.sql, parameters) or 0)
            if row_count == answer:
                return []
            return [pattern_difference(self.entity.name, place, "count", row_count, answer)]
        expected_rows = self._expected_rows(arguments, parameters)
        records = records_of(answer)
        row_values = [values for _, values in expected_rows]
        differences = list(self._compare_answer(place, row_values, records, has_next_page(answer)))
        joins = resolve_read(self.migration.query.document.workload, self.read).joins
        answered_rows = [row for row, _ in expected_rows[: len(records)]]
        for join, joined_answer in zip(joins, joined_answers, strict=False):
            differences += self._compare_joined(place, join, answered_rows, joined_answer)
        return differences

    def _expected_rows(self, arguments: Mapping[str, Any], parameters: Mapping[str, Any]) -> list[Sample]:
        """The rows of the statement in its order, with the values that they should have become."""
        expected_rows: list[Sample] = []
        for keys in self.snapshot.rows(f"{self.sql} LIMIT {_MAX_ROWS}", parameters):
            key = [keys[f"{_KEY_COLUMN}{at}"] for at in range(len(self.rows.key))]
            row = self.rows.by_key(self.snapshot, key)
            if row is None:
                continue  # the mapping leaves some rows behind
            try:
                values = self.rows.convert(row)
            except RowError:
                continue  # a dead letter, which the comparison of items reports
            if self._has_prefixes(values, arguments):
                expected_rows.append((row, values))
        return expected_rows

    def _has_prefixes(self, values: Values, arguments: Mapping[str, Any]) -> bool:
        """Whether a row has the prefixes of the arguments. LIKE ignores case in some databases, and a key never."""
        prefixed_names = {read_input.attribute for read_input in self.read.inputs if read_input.op is Op.BEGINS_WITH}
        for param in self.method.params:
            if not isinstance(param.meaning, InputValue) or param.name not in arguments:
                continue
            name = param.meaning.input
            if name in prefixed_names and not str(values.get(name, "")).startswith(arguments[param.name]):
                return False
        return True

    def _compare_extreme(self, place: str, extreme: Any, records: Sequence[Any]) -> Iterator[ItemDifference]:
        """Compares MAX or MIN with the first item."""
        name = self.read.sort[0].attribute
        column = self.rows.mapping.source(name).column
        row_value = None if extreme is None else self.rows.convert_one(name, {column: extreme})
        answer = self.sides.values_of(records[0]).get(name) if records else None
        if canonical(row_value) != canonical(answer):
            yield pattern_difference(self.entity.name, place, name, shown(row_value), shown(answer))

    def _compare_joined(
        self, place: str, join: Join, rows: Sequence[Row], joined_answer: Mapping[Any, Any]
    ) -> Iterator[ItemDifference]:
        """Compares the items that those of the answer refer to with the rows that their rows refer to."""
        name = join.entity.name
        parent = self.migration.of(name)
        links = joined_columns(self.migration, self.read, join)
        references: dict[str, list[Any]] = {}
        for row in rows:
            reference = [row.values[attribute] for attribute, _ in links]
            if None not in reference:
                references[canonical_text(reference)] = reference
        columns = [column for _, column in links]
        parent_rows = list(parent.matching(self.snapshot, columns, list(references.values())))
        row_items = self.sides.convert_rows(parent, parent_rows)
        answer: list[KeyedValues] = []
        for record in joined_answer.values():
            values = self.sides.values_of(record)
            answer.append((id_of(parent.entity, values), values))
        for difference in compare_items(name, row_items, answer):
            attribute = difference.attribute or difference.kind
            item_place = f"{place}: {difference.key}"
            yield pattern_difference(name, item_place, attribute, difference.expected, difference.found)

    def _compare_answer(
        self, place: str, rows: Sequence[Values], records: Sequence[Any], has_next: bool
    ) -> Iterator[ItemDifference]:
        """Compares the order of an answer, then its items.

        Both sides may be cut: the answer by its limit, and the rows by ours. Only what both can have is compared.
        """
        is_answer_cut = has_next or len(records) == self.read.limit
        are_rows_cut = len(rows) == _MAX_ROWS  # there may be more rows than were read
        if are_rows_cut and len(records) >= len(rows):
            records = records[: len(rows)]
            is_answer_cut = True
        answer = [self.sides.values_of(record) for record in records]
        comparable = rows[: len(answer)] if is_answer_cut else rows
        yield from self._compare_order(place, comparable, answer, records)
        yield from self._compare_items(place, rows, answer, records, are_rows_cut)
        if not is_answer_cut:
            yield from self._missing_items(place, rows, answer)

    def _compare_order(
        self, place: str, rows: Sequence[Values], answer: Sequence[Values], records: Sequence[Any]
    ) -> Iterator[ItemDifference]:
        order = {sort.attribute for sort in self.read.sort}
        # A view may lack the attributes that it is sorted by.
        if not order or not all(order <= self.migration.package.holds(record) for record in records):
            return
        row_order = [self._sort_values(values) for values in rows]
        answer_order = [self._sort_values(values) for values in answer]
        if [canonical(values) for values in row_order] != [canonical(values) for values in answer_order]:
            row_start, answer_start = shown(row_order[:5]), shown(answer_order[:5])
            yield pattern_difference(self.entity.name, place, "order", row_start, answer_start)

    def _compare_items(
        self,
        place: str,
        rows: Sequence[Values],
        answer: Sequence[Values],
        records: Sequence[Any],
        are_rows_cut: bool,
    ) -> Iterator[ItemDifference]:
        """Compares the attributes of each item of the answer with those of its row."""
        name = self.entity.name
        rows_by_id = {self._id_text(values): values for values in rows}
        last_row = canonical(self._sort_values(rows[-1])) if rows else []
        for record, values in zip(records, answer, strict=True):
            text = self._id_text(values)
            if text in rows_by_id:
                attributes = self.migration.package.holds(record)
                yield from attribute_differences(name, [place], rows_by_id[text], values, attributes)
            # Of more rows than were read, those that sort like the last one may come in any order.
            elif not (are_rows_cut and canonical(self._sort_values(values)) == last_row):
                yield pattern_difference(name, place, "items", "no such row", shown_key(id_of(self.entity, values)))

    def _missing_items(self, place: str, rows: Sequence[Values], answer: Sequence[Values]) -> Iterator[ItemDifference]:
        answered_ids = {self._id_text(values) for values in answer}
        rows_by_id = {self._id_text(values): values for values in rows}
        for text, values in rows_by_id.items():
            if text not in answered_ids:
                key = shown_key(id_of(self.entity, values))
                yield pattern_difference(self.entity.name, place, "items", key, "not returned")

    def _sort_values(self, values: Values) -> list[Any]:
        return [values.get(sort.attribute) for sort in self.read.sort]

    def _id_text(self, values: Values) -> str:
        return canonical_text(id_of(self.entity, values))


def _argument(meaning: InputValue, read_input: Input, sample: Sample, other_sample: Sample) -> tuple[Any, Any] | None:
    """An argument from the value of a sample, and the parameter from its row; None if it has no such value."""
    row, values = sample
    other_row, other_values = other_sample
    name = meaning.input
    if values.get(name) is None or name not in row.values:
        return None
    argument, parameter = values[name], row.values[name]
    if meaning.end:
        argument, parameter = _range_end(meaning, sample, other_sample)
    if meaning.many:
        # Two members, if there are two: a list of one would not show that the others are looked up.
        other_argument = other_values.get(name)
        has_other = other_argument not in (None, argument)
        argument, parameter = [argument], [parameter]
        if has_other:
            argument.append(other_argument)
            parameter.append(other_row.values[name])
    if read_input.op is Op.BEGINS_WITH:
        argument, parameter = _prefix(argument), _prefix(parameter)
        if not argument or not parameter:
            return None
        parameter += "%"
    return argument, parameter


def _range_end(meaning: InputValue, *samples: Sample) -> tuple[Any, Any]:
    """The lower or the higher one of the values of samples, with the value of its row."""
    name = meaning.input
    pairs = [(values[name], row.values.get(name)) for row, values in samples if values.get(name) is not None]
    pairs.sort(key=itemgetter(0))
    return pairs[0] if meaning.end == "low" else pairs[-1]


def _prefix(value: Any) -> str:
    """The first half of a text, without characters that mean something in LIKE."""
    text = value if isinstance(value, str) else ""
    return re.split(r"[%_\\]", text[: max(1, len(text) // 2)])[0]


def joined_columns(migration: Migration, read: Read, join: Join) -> list[tuple[str, str]]:
    """The attributes that refer to a joined entity, each with the column of its table; empty if one is no column."""
    rows, parent = migration.of(read.entities[0]), migration.of(join.entity.name)
    columns = []
    for link in join.links:
        if link.own.name not in rows.mapping.attributes or link.other.name not in parent.mapping.attributes:
            return []
        column = parent.mapping.source(link.other.name).column
        if not column or "." in column:
            return []
        columns.append((link.own.name, column))
    return columns
