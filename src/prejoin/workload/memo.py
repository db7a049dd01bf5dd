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
    def compute_once(workload: Workload, entity: Entity, *arguments: object) -> object:
        if workload.entity(entity.name) is not entity:
            return function(workload, entity, *arguments)
        hashable_arguments = [_hashable(argument) for argument in arguments]
        key = (function.__name__, entity.name, *(_name(argument) for argument in hashable_arguments))
        memo = workload.memo
        if key not in memo:
            memo[key] = function(workload, entity, *hashable_arguments)
        return memo[key]

    return cast("Function", compute_once)


def _hashable(argument: object) -> object:
    names = isinstance(argument, Iterable) and not isinstance(argument, str | Entity)
    return frozenset(cast("Iterable[str]", argument)) if names else argument


def _name(argument: object) -> object:
    return ("entity", argument.name) if isinstance(argument, Entity) else argument
