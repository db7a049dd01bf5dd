"""Remembers the results of pure functions of a workload, for as long as the workload exists."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, TypeVar, cast

from prejoin.workload.model import Entity, Workload

Function = TypeVar("Function", bound=Callable[..., Any])


def remembered(function: Function) -> Function:
    """A function of a workload, one of its entities, and names, that computes each result once.

    An entity that is not the workload's own is computed anew each time.
    """

    @wraps(function)
    def found(workload: Workload, entity: Entity, *rest: object) -> object:
        if workload.entity(entity.name) is not entity:
            return function(workload, entity, *rest)
        given = [_hashable(one) for one in rest]
        key = (function.__name__, entity.name, *(_name(one) for one in given))
        memo = workload.memo
        if key not in memo:
            memo[key] = function(workload, entity, *given)
        return memo[key]

    return cast("Function", found)


def _hashable(one: object) -> object:
    names = isinstance(one, Iterable) and not isinstance(one, str | Entity)
    return frozenset(cast("Iterable[str]", one)) if names else one


def _name(one: object) -> object:
    return ("entity", one.name) if isinstance(one, Entity) else one
