"""Reads that ask in another way, as proposals: each is a change of a row of the document, or of a few."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from itertools import combinations

from msgspec.structs import replace

from prejoin.design.cost.assumptions import count_by, count_of, per_second
from prejoin.design.cost.estimates import Estimates
from prejoin.design.cost.excess import excess
from prejoin.design.model import Design, ItemName
from prejoin.design.phrases import count
from prejoin.design.whatif.change import Change
from prejoin.design.whatif.edits import changed_writes, edit_inputs, only_entity
from prejoin.protocol.prices import read_units
from prejoin.types import STRING
from prejoin.workload.grammar.inputs import write_inputs
from prejoin.workload.lookup import alternatives, bare_name, changes
from prejoin.workload.model import (
    RANGES,
    Attribute,
    Consistency,
    Entity,
    Input,
    Op,
    Rate,
    Read,
    Result,
    Workload,
    Write,
)
from prejoin.workload.model import Change as AttributeChange
from prejoin.workload.program.resolved_read import Role, resolve_read

SMALL = 10.0
"""Read units of a call that reads more than it returns: a collection of up to 80 KB."""
CELLS = 9
"""Cells of a geohash that a search around a point asks: its own, and those beside it."""
NEAR = 50
"""Items in a cell of a geohash: its length is chosen so."""
_COORDINATE = re.compile(
    r"(?:(?:^|_)(?:lat|lng|lon)|Lat|Lng|Lon)(?![a-z])|(?:(?:^|_)long|Long)$|[Ll]atitude|[Ll]ongitude"
)
"""A coordinate by its name: `lat`, `homeLng`, `longitude`; not `latestAt` or `translatedAt`."""


# --- Reads that read too much ---------------------------------------------------------------------------------------


def required_inputs(workload: Workload, read: Read) -> Iterator[Change]:
    """As few of the optional inputs as needed, required, so that the read finds little."""
    optional = [clause.input for clause in resolve_read(workload, read).having(Role.OPTIONAL)]
    # One required input is the smallest demand; more than two is another read.
    for number in (1, 2):
        reads = {}
        for required_inputs in combinations(optional, number):
            changed_read = edit_inputs(read, required_inputs, lambda condition: replace(condition, optional=False))
            if excess(resolve_read(workload, changed_read)) is None:
                reads[required_inputs] = changed_read
        if reads:
            required_inputs = min(reads, key=lambda inputs: _items_found(workload, reads[inputs]))
            names = " and ".join(f"`{condition.attribute}`" for condition in required_inputs)
            yield Change(f"{names} always given", patterns=(reads[required_inputs],))
            return


def _items_found(workload: Workload, read: Read) -> float:
    entity = only_entity(workload, read)
    names = [clause.name for clause in resolve_read(workload, read).having(Role.EQUAL)]
    return count_by(workload, entity, names) if entity else 0.0


def query_for_each(workload: Workload, read: Read) -> Iterator[Change]:
    """A Query for each of several values, instead of a filter by a list of them."""
    without_constants = [condition for condition in read.inputs if not condition.values]
    lists = [condition for condition in without_constants if condition.op is Op.IN]
    if len(lists) != 1 or not excess(resolve_read(workload, read)):
        return
    name = lists[0].attribute
    changed_read = edit_inputs(read, lists, lambda condition: Input(name, many=True))
    changed_read = replace(changed_read, paginated=False, page=None, limit=None)
    if excess(resolve_read(workload, changed_read)) is None:
        yield Change(f"a Query for each `{name}`, without pages", patterns=(changed_read,))


def read_for_each(workload: Workload, read: Read) -> Iterator[Change]:
    """A read for each of several alternatives, which the application merges."""
    group = next((group for group in alternatives(read.inputs) if len(group) > 1), None)
    is_decided = any(getattr(decision.pin, "pattern", "") == read.id for decision in workload.decisions)
    if group is None or is_decided or read.result is not Result.MANY:
        return
    reads = [_read_of_alternative(read, group, number) for number in range(1, len(group) + 1)]
    if any(excess(resolve_read(workload, part)) or workload.pattern(part.id) for part in reads):
        return
    summary = f"{count(len(reads), 'read')} in place of `or`, merged by the application"
    yield Change(summary, patterns=tuple(reads), removed_names=(read.id,))


def _read_of_alternative(read: Read, group: tuple[Input, ...], number: int) -> Read:
    """The read with one input of a group of alternatives, without the others."""
    inputs: list[Input] = []
    group_ids = [id(condition) for condition in group]  # two alternatives may be equal
    for condition in read.inputs:
        if condition is group[number - 1]:
            inputs.append(replace(condition, filter=False, either=False))
        elif id(condition) not in group_ids:
            inputs.append(condition)
    return replace(read, id=f"{read.id}-{number}", name="", inputs=tuple(inputs))


def pages(workload: Workload, read: Read) -> Iterator[Change]:
    """Pages, instead of all items at once."""
    is_whole = read.result is Result.MANY and not read.paginated and not read.limit
    changed_read = replace(read, paginated=True, page=50)
    if is_whole and excess(resolve_read(workload, read)) and excess(resolve_read(workload, changed_read)) is None:
        yield Change("pages of 50 items", patterns=(changed_read,))


# --- Places ---------------------------------------------------------------------------------------------------------


def is_coordinate_range(condition: Input) -> bool:
    return condition.op in RANGES and _COORDINATE.search(condition.attribute) is not None


def geohash(workload: Workload, read: Read) -> Iterator[Change]:
    """Two ranges of coordinates as the prefix of a geohash, asked once for each of nine cells."""
    entity = only_entity(workload, read)
    key_inputs = [condition for condition in read.inputs if not condition.filter]
    ranges = list(filter(is_coordinate_range, key_inputs))
    if entity is None or len(ranges) != 2 or entity.attribute("geohash"):
        return
    names = {bare_name(condition.attribute) for condition in ranges}
    moves = any(attribute.mutable for attribute in entity.attributes if attribute.name in names)
    cell = Attribute("geohash", STRING, mutable=moves)
    # Two digits: the document prints the share.
    near = min(100.0, float(f"{100 * NEAR / count_of(workload, entity):.2g}"))
    other_conditions = [condition for condition in read.inputs if condition not in ranges]
    # The cells are larger than the rectangle: about half of what they hold is outside.
    filters = [replace(condition, filter=True, keeps=50.0) for condition in ranges]
    inputs = (*other_conditions, Input("geohash", Op.BEGINS_WITH, keeps=near), *filters)
    changed_read = replace(read, inputs=inputs, sort=(), rate=Rate(value=per_second(read.rate) * CELLS))
    writes = changed_writes(workload, lambda write: _with_geohash(write, entity, names))
    yield Change(
        f"a geohash, of which a call asks up to {CELLS} cells and sorts by distance itself",
        entities=(replace(entity, attributes=(*entity.attributes, cell)),),
        patterns=(changed_read, *writes),
    )


def _with_geohash(write: Write, entity: Entity, coordinates: set[str]) -> Write:
    """An update of a coordinate, which also changes the geohash."""
    actions = list(write.actions)
    for number, action in enumerate(actions):
        if action.entity == entity.name and action.updates:
            write_changes = changes(write, action, entity)
            if any(change.attribute in coordinates for change in write_changes):
                actions[number] = replace(action, changes=(*write_changes, AttributeChange("geohash")))
    if tuple(actions) == write.actions:
        return write
    return replace(write, inputs=(*write.inputs, Input("geohash")), actions=tuple(actions))


# --- Reads that need a structure ------------------------------------------------------------------------------------


def eventual_read(read: Read) -> Iterator[Change]:
    """A consistent read of a copy as a read that an index can serve."""
    if read.consistency is Consistency.STRONG:
        changed_read = replace(read, consistency=Consistency.EVENTUAL)
        yield Change(f"if {read.id} may read eventually", patterns=(changed_read,))


def constants_in_key(read: Read) -> Iterator[Change]:
    """A read whose constants are a part of the key, and not of a filter."""
    # One of several alternatives, `status = OPEN or priority = HIGH`, can be in no key.
    single_inputs = [group[0] for group in alternatives(read.inputs) if len(group) == 1]
    constants = list(filter(_is_filtered_constant, single_inputs))
    if constants:
        changed_read = edit_inputs(read, constants, _in_key)
        summary = f"if {read.id} asks for `{write_inputs(tuple(map(_in_key, constants)))}` without a filter"
        yield Change(summary, patterns=(changed_read,))


def _is_filtered_constant(condition: Input) -> bool:
    return condition.filter and bool(condition.values) and condition.op in (Op.EQ, Op.IN)


def _in_key(condition: Input) -> Input:
    return replace(condition, filter=False)


def unsorted_read(workload: Workload, design: Design, read: Read) -> Iterator[Change]:
    """A read without its order, if a call then still reads little."""
    operation = design.operation(read.id)
    if not read.sort or len(read.entities) != 1 or read.result is not Result.MANY or operation is None:
        return
    # A limit without an order would cut off any items.
    changed_read = replace(read, sort=(), limit=None, page=None, paginated=False)
    request = replace(operation.requests[0], limit=None)
    figures = Estimates(design, workload)
    (name,) = read.entities
    number = figures.items_found(changed_read, request, name)
    if read_units(round(number * figures.size(ItemName(name)))) <= SMALL:
        summary = f"if the application of {read.id} sorts about {count(math.ceil(number), 'item')} itself"
        yield Change(summary, patterns=(changed_read,))
