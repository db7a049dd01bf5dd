"""`design_moved`: the design in which entities of a table in use get another key.

    prejoin design new/access-patterns.md --keep old/table-design.md --move "Order to USER#{userId} / O#{orderId}"

For a time an entity has two items, one under each key. So it gets another type, `Order2`, and its keys must not be
among those of its old items: a query of one version of the code would return items of the other. All keys of other
entities stay. The keys are made in three steps:

1. The designer chooses the keys of the moved entities in the indexes, and in the table if no key is given. It knows
   nothing of the old items, so it usually chooses the keys that they have.
2. Each key that is among the old items is set apart: by another word in its sort key or in its partition key, or by
   another index. The first combination is taken that serves all patterns and that `plan_transition` accepts.
3. The designer designs again and keeps all of these keys: it explains, checks, prices and proves the result.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as with_other
from itertools import islice, product
from pathlib import Path

from msgspec.structs import replace

from prejoin.design.checks import check_design
from prejoin.design.mapping.map_patterns import map_patterns
from prejoin.design.model import TABLE, Design, Facet, Item, KeyAttribute, Slot
from prejoin.design.solver.fixed_keys import free_name
from prejoin.design.solver.program.integer_program import InfeasibleError, TimeLimit
from prejoin.design.solver.solve import solve
from prejoin.design.whatif.conflicts import conflicts
from prejoin.diagnostics import Diagnostic, Severity
from prejoin.migrate.evolve.plan import open_version
from prejoin.migrate.evolve.transition import CodeVersion, plan_transition
from prejoin.pipeline import codes as pipeline_codes
from prejoin.pipeline.design.decisions import read_decision
from prejoin.pipeline.design.design_file import places_of
from prejoin.pipeline.design.design_table import ContradictionError, DesignRequest, DesignResult, solve_request
from prejoin.pipeline.errors import InputError, InvalidArgumentError, Source
from prejoin.pipeline.progress import SILENT, Progress
from prejoin.workload.grammar.lexer import Inexact, write_name
from prejoin.workload.lookup import suggest
from prejoin.workload.model import FixedKey, Pin, Workload

_NAME = re.compile(r"`?(\w+)`?\Z")
_MOST_COMBINATIONS = 500
"""Combinations of keys that are tried. Each takes a few milliseconds."""


@dataclass(frozen=True)
class Move:
    """An entity that gets another key in the table. Without a partition key, the designer chooses the key."""

    entity: str
    pk: str = ""
    sk: str = ""

    @property
    def is_given(self) -> bool:
        return bool(self.pk)


# --- Read the moves -------------------------------------------------------------------------------------------------


def read_moves(texts: Iterable[str], workload: Workload, old: Design) -> tuple[Move, ...]:
    """Reads moves such as `Order` and `Order to USER#{userId} / ORDER#{orderId}`.

    Raises an `InvalidArgumentError` if an entity or an attribute is unknown, or the key is none of this table.
    """
    moves: dict[str, Move] = {}
    for text in texts:
        move = _read_move(text, workload, old)
        if move.entity in moves:
            raise _invalid_move(f"{move.entity} is moved twice", "give one `--move` for each entity")
        moves[move.entity] = move
    return tuple(moves.values())


def _read_move(text: str, workload: Workload, old: Design) -> Move:
    # `Order to USER#{userId} / O#{orderId}`: a key may have spaces, and the name of an entity has none.
    entity_name, _, clause = text.strip().partition(" ")
    word, _, key = clause.strip().partition(" ")
    match = _NAME.match(entity_name)
    if match is None or (clause and (word != "to" or not key.strip())):
        fix = 'write `--move Order`, or `--move "Order to USER#{userId} / ORDER#{orderId}"`'
        raise _invalid_move(f"`{text}` names no entity and its key", fix)
    name, key = match[1], key.strip()
    if workload.entity(name) is None:
        suggestion = suggest(name, [entity.name for entity in workload.entities])
        fix = f"did you mean `{suggestion}`?" if suggestion else "name one to move"
        raise _invalid_move(f"there is no entity `{name}`", fix)
    old_item = old.item(name)
    if old_item is None:
        raise _invalid_move(f"the design in use has no {name}", "leave out `--move`: a new entity has no items to move")
    if key:
        return _move_to(_read_key(name, key, workload, old), old_item)
    pins = [decision.pin for decision in workload.decisions if _fixes_key(decision.pin, name)]
    return _move_to(pins[0], old_item) if pins else Move(name)


def _read_key(entity: str, key: str, workload: Workload, old: Design) -> Pin | None:
    """Reads a key by the grammar of decisions."""
    parts = [part.strip().strip("`") for part in key.split(" / ")]
    table = old.slots[0]
    if len(parts) != len(table.pk) + len(table.sk) or not all(parts):
        form = "PARTITION KEY / SORT KEY" if table.sk else "PARTITION KEY"
        raise _invalid_move(f"`{key}` is not a key of this table", f'write `--move "{entity} to {form}"`')
    sort = f" and `{parts[1]}`" if table.sk else ""
    try:
        return read_decision(f"{write_name(entity)} has key `{parts[0]}`{sort}", workload)
    except Inexact as problem:
        raise _invalid_move(problem.message, problem.fix) from None


def _move_to(pin: Pin | None, old_item: Item) -> Move:
    assert isinstance(pin, FixedKey)
    if (pin.pk,) == old_item.facets[0].pk and (pin.sk,) == (old_item.facets[0].sk or ("",)):
        raise _invalid_move(f"{pin.entity} has this key already", "give another key, or leave out `--move`")
    return Move(pin.entity, pin.pk, pin.sk)


def _fixes_key(pin: Pin | None, entity: str) -> bool:
    return isinstance(pin, FixedKey) and pin.entity == entity and not pin.index


def _invalid_move(message: str, fix: str) -> InvalidArgumentError:
    return InvalidArgumentError(pipeline_codes.FLAG, message, fix)


# --- Design ---------------------------------------------------------------------------------------------------------


def design_moved(request: DesignRequest, moves: Sequence[Move], progress: Progress = SILENT) -> DesignResult:
    """Designs with other keys for some entities of the kept design, so that `prejoin evolve plan` accepts the change.

    Raises an `InputError` if it would not: then it says why, and nothing is designed.
    """
    old = request.kept
    assert old is not None
    workload = request.workload
    first = _design_first(request, moves, progress)
    _require_other_keys(old, first, moves)
    _require_sound(request, first, moves)
    version = _version_in_use(request, old)
    best: tuple[Diagnostic, ...] = ()
    for candidate in islice(_separated_designs(first, old, moves, workload), _MOST_COMBINATIONS):
        design = map_patterns(candidate, workload)
        if not design.unserved <= first.unserved:
            continue
        refusals = _refusals(version, CodeVersion("the new design", workload, design))
        if not refusals:
            keys = replace(candidate, operations=(), decisions=())
            return solve_request(with_other(request, kept=keys, in_use=old), progress)
        if not best or len(refusals) < len(best):
            best = refusals
    names = " and ".join(moved_names(moves))
    raise InputError(Source(request.document.file, "", best), note=f"{names} cannot be moved; nothing was designed")


def moved_names(moves: Iterable[Move]) -> tuple[str, ...]:
    return tuple(move.entity for move in moves)


def _design_first(request: DesignRequest, moves: Sequence[Move], progress: Progress) -> Design:
    """The design in which the moved entities have the keys that the designer chooses, and all others stay."""
    assert request.kept is not None
    base = _without_keys(request.kept, moves)
    progress.begin("choosing keys of moved entities", "move")
    limit = None if request.time_limit is None else TimeLimit(request.time_limit)
    try:
        design = solve(request.workload, base, progress.update, limit).design
    except InfeasibleError:
        raise ContradictionError(request.document, conflicts(request.workload, base)) from None
    return design


def _without_keys(old: Design, moves: Sequence[Move]) -> Design:
    """The kept design without the moved entities, but for the keys that are given, and without indexes of theirs."""
    by_name = {move.entity: move for move in moves}
    items: list[Item] = []
    for item in old.items:
        move = by_name.get(item.entity)
        if move is None:
            items.append(item)
        elif move.is_given and not item.copy:
            facet = Facet(TABLE, (move.pk,), (move.sk,) if move.sk else ())
            items.append(Item(item.entity, next_tag(item, old), (facet,)))
    used_slots = {facet.slot for item in items for facet in item.facets}
    slots = tuple(slot for slot in old.slots if slot.name == TABLE or slot.name in used_slots)
    return replace(old, slots=slots, items=tuple(items))


def next_tag(item: Item, old: Design) -> str:
    """The next type of an entity: `Order2` after `Order`, `Order3` after `Order2`."""
    number = _number(item) + 1
    reserved_names = {other.tag for other in old.items} | {other.entity for other in old.items}
    while f"{item.entity}{number}" in reserved_names:
        number += 1
    return f"{item.entity}{number}"


def _number(item: Item) -> int:
    """How often an entity was moved, plus one: 2 for the type `Order2` of Order."""
    end = item.tag.removeprefix(item.entity)
    return int(end) if end != item.tag and end.isdigit() else 1


def _require_other_keys(old: Design, first: Design, moves: Sequence[Move]) -> None:
    for move in moves:
        was, now = old.item(move.entity), first.item(move.entity)
        if was and now and was.facets[0] == now.facets[0]:
            key = " / ".join((*was.facets[0].pk, *was.facets[0].sk))
            fix = f'give the key, `--move "{move.entity} to …"`, or change the access patterns or decisions first'
            raise _invalid_move(f"the designer would choose the same key for {move.entity}, `{key}`", fix)


def _require_sound(request: DesignRequest, first: Design, moves: Sequence[Move]) -> None:
    """Raises an `InputError` if a given key is not unique, holds a mutable attribute, or is no key of the entity."""
    names = {move.entity for move in moves}
    document = request.document
    diagnostics = check_design(map_patterns(first, request.workload), request.workload, places_of(document))
    errors = tuple(
        diagnostic
        for diagnostic in diagnostics
        if diagnostic.severity is Severity.ERROR and diagnostic.about.split(".")[0] in names
    )
    if errors:
        raise InputError(
            Source(document.file, document.text, errors), note="the key cannot be used; nothing was designed"
        )


def _version_in_use(request: DesignRequest, old: Design) -> CodeVersion:
    """The code that runs now. Without its document, it is supposed to have the patterns of the new one."""
    file = request.file_in_use
    if file:
        try:
            folder = str(Path(file).parent)
            return open_version(folder, file)
        except InputError:
            pass
    return CodeVersion("the design in use", request.workload, map_patterns(old, request.workload))


def _refusals(old: CodeVersion, new: CodeVersion) -> tuple[Diagnostic, ...]:
    try:
        plan_transition(old, new)
    except InputError as problem:
        return tuple(diagnostic for source in problem.sources for diagnostic in source.diagnostics)
    return ()


# --- Set keys apart -------------------------------------------------------------------------------------------------

Separation = Callable[[Design], Design]
"""Changes a design so that a key is not among those of old items."""


def _separated_designs(first: Design, old: Design, moves: Sequence[Move], workload: Workload) -> Iterator[Design]:
    """The designs with each combination of ways to set keys apart; those that change less come first."""
    design = replace(first, items=tuple(_with_new_tag(item, old, moves) for item in first.items))
    choices: list[list[Separation]] = []
    for move in moves:
        was, now = old.item(move.entity), design.item(move.entity)
        assert was is not None
        for facet in now.facets if now else ():
            is_fixed = facet.slot == TABLE and move.is_given
            choices.append([_keep_design] if is_fixed else [*_separations(was, facet, old, workload)])
    for combination in product(*choices):
        candidate = design
        for change in combination:
            candidate = change(candidate)
        yield candidate


def _with_new_tag(item: Item, old: Design, moves: Sequence[Move]) -> Item:
    """An item of a moved entity with another type. A copy with the same key is the same in both designs."""
    was = old.item(item.entity)
    if was is None or item.entity not in moved_names(moves):
        return item
    tag = next_tag(was, old)
    if not item.copy:
        return replace(item, tag=tag)
    same_name = old.item(item.entity, item.copy)
    if same_name is not None and same_name.facets[0] == item.facets[0]:
        return replace(item, tag=same_name.tag)
    number = int(tag.removeprefix(item.entity))
    if same_name is not None:
        name = f"{item.copy}-{number}"
        item = replace(item, copy=name, tag=f"{tag}.{name}")
    if any(old_item.facets[0] == item.facets[0] for old_item in old.items):
        # The copy has the key that the entity had, where its old items are for a time.
        facet = item.facets[0]
        word = f"{item.entity.upper()}{number}"
        last = facet.sk or facet.pk
        other = (other_word(last[0], number, _number(was), word, old.separator), *last[1:])
        facet = replace(facet, sk=other) if facet.sk else replace(facet, pk=other)
        item = replace(item, facets=(facet, *item.facets[1:]))
    return item


def _keep_design(design: Design) -> Design:
    return design


def _separations(was: Item, facet: Facet, old: Design, workload: Workload) -> Iterator[Separation]:
    """The ways to set a key of an entity apart from those of its old items."""
    entity, number = was.entity, int(next_tag(was, old).removeprefix(was.entity))
    word = f"{entity.upper()}{number}"
    separator = old.separator
    is_same_index = old.slot(facet.slot) is not None
    if was.facet(facet.slot) != facet:
        yield _keep_design
    if facet.sk:
        sort = (other_word(facet.sk[0], number, _number(was), word, separator), *facet.sk[1:])
        yield lambda design: _with_facet(design, entity, replace(facet, sk=sort))
    partition = (other_word(facet.pk[0], number, _number(was), word, separator), *facet.pk[1:])
    yield lambda design: _with_facet(design, entity, replace(facet, pk=partition))
    if facet.slot != TABLE and is_same_index:
        yield lambda design: _in_other_index(design, facet.slot, old, workload, only=entity)
        yield lambda design: _in_other_index(design, facet.slot, old, workload)


def other_word(template: str, number: int, earlier: int, word: str, separator: str) -> str:
    """A template with another first word.

    >>> other_word("USER#{userId}", 2, 1, "ORDER2", "#"), other_word("{status}", 2, 1, "ORDER2", "#")
    ('USER2#{userId}', 'ORDER2#{status}')
    >>> other_word("ORDER2", 3, 2, "ORDER3", "#")
    'ORDER3'
    """
    first, found_separator, remainder = template.partition(separator)
    if "{" in first or not first:
        return f"{word}{separator}{template}"
    if earlier > 1:
        first = first.removesuffix(str(earlier))
    return f"{first}{number}{found_separator}{remainder}"


def _with_facet(design: Design, entity: str, facet: Facet) -> Design:
    items = []
    for item in design.items:
        if item.entity == entity and not item.copy:
            facets = tuple(facet if item_facet.slot == facet.slot else item_facet for item_facet in item.facets)
            item = replace(item, facets=facets)
        items.append(item)
    return replace(design, items=tuple(items))


def _in_other_index(design: Design, name: str, old: Design, workload: Workload, only: str = "") -> Design:
    """The design with another index of the same form, for the keys of one entity or of all entities."""
    slot = design.slot(name)
    if slot is None:
        return design
    other = _with_other_name(slot, _free_index_name(design, old), workload)
    items = []
    for item in design.items:
        if not only or (item.entity == only and not item.copy):
            facets = [replace(facet, slot=other.name) if facet.slot == name else facet for facet in item.facets]
            item = replace(item, facets=tuple(facets))
        items.append(item)
    # The index that was left may have no keys any more.
    used_slots = {TABLE, *(facet.slot for item in items for facet in item.facets)}
    slots = [slot for slot in design.slots if slot.name in used_slots]
    return replace(design, slots=(*slots, other), items=tuple(items))


def _free_index_name(*designs: Design) -> str:
    names = {slot.name for design in designs for slot in design.slots}
    number = 1
    while f"gsi{number}" in names:
        number += 1
    return f"gsi{number}"


def _with_other_name(slot: Slot, name: str, workload: Workload) -> Slot:
    pk = (KeyAttribute(free_name(f"{name}pk", workload), slot.pk[0].type), *slot.pk[1:])
    sk = (KeyAttribute(free_name(f"{name}sk", workload), slot.sk[0].type), *slot.sk[1:]) if slot.sk else ()
    return replace(slot, name=name, pk=pk, sk=sk)
