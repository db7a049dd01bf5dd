"""Decorates functions, coroutines, generators and test classes with a context, one for each call or test."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import Any, TypeVar, cast
from unittest import TestCase

F = TypeVar("F", bound=Callable[..., Any])
"""A function or a class."""
Context = Callable[[], AbstractContextManager[Any]]


def decorate(context: Context, function: F) -> F:
    """Put a context around each call of a function, or around each test of a class.

    A generator is inside the context from its first value to its end, as pytest fixtures are.

    >>> from contextlib import contextmanager
    >>> @contextmanager
    ... def noted():
    ...     print("in")
    ...     yield
    ...     print("out")
    >>> decorate(noted, lambda text: text.upper())("x")
    in
    out
    'X'
    """
    if isinstance(function, type):
        _decorate_class(context, function)
        return cast("F", function)
    if isasyncgenfunction(function):
        raise TypeError(
            f"{function.__name__} is an asynchronous generator, which cannot be decorated: "
            "use the context manager inside it, or the fixture `prejoin_boto3`"
        )
    wrapper: Callable[..., Any]
    if iscoroutinefunction(function):

        async def await_in_context(*positional: Any, **keywords: Any) -> Any:
            with context():
                return await function(*positional, **keywords)

        wrapper = await_in_context
    elif isgeneratorfunction(function):

        def yield_in_context(*positional: Any, **keywords: Any) -> Any:
            with context():
                return (yield from function(*positional, **keywords))

        wrapper = yield_in_context
    else:

        def call_in_context(*positional: Any, **keywords: Any) -> Any:
            with context():
                return function(*positional, **keywords)

        wrapper = call_in_context
    return cast("F", wraps(function)(wrapper))


def _decorate_class(context: Context, tests: type) -> None:
    """Change a class so that its runner enters the context before each test and leaves it after."""
    classes = [member for member in vars(tests).values() if _has_tests(member)]
    inner = [member for member in classes if _is_inside(member, tests)]
    if not inner and not _has_tests(tests):
        raise TypeError(
            f"{tests.__name__} has no tests: a class can be decorated when it is a unittest.TestCase, or has methods "
            "for pytest whose names begin with `test`"
        )
    for inner_tests in inner:
        _decorate_class(context, inner_tests)
    if issubclass(tests, TestCase):
        # run() and debug() include everything of a test: setup, the test, teardown and cleanup.
        tests.run = decorate(context, tests.run)  # type: ignore[method-assign]
        tests.debug = decorate(context, tests.debug)  # type: ignore[method-assign]
    else:
        _around_methods(context, tests)


def _has_tests(member: Any) -> bool:
    if not isinstance(member, type):
        return False
    return issubclass(member, TestCase) or any(name.startswith("test") for name in dir(member))


def _is_inside(inner: type, outer: type) -> bool:
    """Return whether a class was defined inside another, and is not just referenced there."""
    return inner.__module__ == outer.__module__ and inner.__qualname__.startswith(f"{outer.__qualname__}.")


def _around_methods(context: Context, tests: Any) -> None:
    """Wrap setup_method, which pytest calls before the fixtures of a class or its tests, and teardown_method."""
    set_up, tear_down = getattr(tests, "setup_method", None), getattr(tests, "teardown_method", None)

    def setup_method(self: Any, method: Any = None) -> None:
        manager = context()
        manager.__enter__()
        try:
            _call(set_up, self, method)
        except BaseException:
            manager.__exit__(None, None, None)  # teardown_method is not called after a failed setup
            raise
        # For nested classes, pytest calls it once for each, always on the inner one.
        self.__dict__.setdefault("_prejoin_entered", []).append(manager)

    def teardown_method(self: Any, method: Any = None) -> None:
        managers = getattr(self, "_prejoin_entered", None)
        if not managers:
            raise RuntimeError(
                f"{type(self).__name__}.setup_method does not call super().setup_method(), so its tests ran "
                f"outside of the mock that decorates {tests.__name__}"
            )
        try:
            _call(tear_down, self, method)
        finally:
            managers.pop().__exit__(None, None, None)

    tests.setup_method, tests.teardown_method = setup_method, teardown_method


def _call(method: Callable[..., Any] | None, instance: Any, test: Any) -> None:
    """Call like pytest: the test is passed to methods that take an argument."""
    if method is not None:
        method(*(instance, test)[: method.__code__.co_argcount])
