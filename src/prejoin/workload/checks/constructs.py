"""Checks of constructs: each says itself what is wrong with its line or flag, and with the writes of its entity."""

from __future__ import annotations

from collections.abc import Iterable

from prejoin.constructs.refreshed import FLAGS, refreshed_in
from prejoin.constructs.registry import constructs_of, lines_of
from prejoin.workload.checks.reporter import Reporter
from prejoin.workload.model import Entity, Read
from prejoin.workload.program.resolved_read import resolve_read


def check_constructs(r: Reporter) -> None:
    for index, entity in enumerate(r.workload.entities):
        for line in lines_of(entity):
            for problem in line.problems():
                r.say(problem.code, ("entities", index, line.construct.name), problem.message, problem.fix)
    for path, pattern in r.patterns():
        if isinstance(pattern, Read):
            continue
        for entity in r.workload.entities:
            for construct_of_entity in constructs_of(entity):
                for problem in construct_of_entity.write_problems(pattern):
                    r.say(problem.code, (*path, problem.column), problem.message, problem.fix)
        for refreshed_attribute in refreshed_in(r.workload) if pattern.id not in r.out_of_scope else ():
            for problem in refreshed_attribute.write_problems(pattern):
                r.say(problem.code, (*path, problem.column), problem.message, problem.fix)


def check_flags(r: Reporter) -> None:
    """Checks the attributes that have the flag of a construct."""

    def is_found(entity: Entity, names: Iterable[str]) -> bool:
        return _is_found(r, entity, frozenset(names))

    for index, entity in enumerate(r.workload.entities):
        for at, attribute in enumerate(entity.attributes):
            for flag in FLAGS:
                for problem in flag.problems(r.workload, entity, attribute, is_found):
                    r.say(problem.code, ("entities", index, "attributes", at), problem.message, problem.fix)


def _is_found(r: Reporter, entity: Entity, names: frozenset[str]) -> bool:
    """Whether a read finds all items of an entity that have some values."""
    for read in r.workload.reads:
        if entity.name not in read.entities or read.id in r.out_of_scope:
            continue
        is_limited = any(input_.values and not input_.filter for input_ in read.inputs)
        given_names = resolve_read(r.workload, read).given(entity.name)
        if not is_limited and given_names and given_names <= names:
            return True
    return False
