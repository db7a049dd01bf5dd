"""A context around functions, coroutines, generators and classes of tests: one of its own for each call or test."""

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
    """The function with the context around each call; a class with the context around each of its tests.

    A generator is inside it from its first value until it ends, which is how a fixture of pytest lives.

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

        async def awaited(*positional: Any, **named: Any) -> Any:
            with context():
                return await function(*positional, **named)

        wrapper = awaited
    elif isgeneratorfunction(function):

        def generated(*positional: Any, **named: Any) -> Any:
            with context():
                return (yield from function(*positional, **named))

        wrapper = generated
    else:

        def called(*positional: Any, **named: Any) -> Any:
            with context():
                return function(*positional, **named)

        wrapper = called
    return cast("F", wraps(function)(wrapper))


def _decorate_class(context: Context, tests: type) -> None:
    """Change a class: what its runner calls around each test enters the context and leaves it."""
    inner = [member for member in vars(tests).values() if _has_tests(member) and _is_inside(member, tests)]
    if not inner and not _has_tests(tests):
        raise TypeError(
            f"{tests.__name__} has no tests: a class can be decorated when it is a unittest.TestCase, or has methods "
            "for pytest whose names begin with `test`"
        )
    for each in inner:
        _decorate_class(context, each)
    if issubclass(tests, TestCase):
        # run() and debug() hold all of a test: what is set up, the test, what is torn down and cleaned up.
        tests.run = decorate(context, tests.run)  # type: ignore[method-assign]
        tests.debug = decorate(context, tests.debug)  # type: ignore[method-assign]
    else:
        _around_methods(context, tests)


def _has_tests(given: Any) -> bool:
    if not isinstance(given, type):
        return False
    return issubclass(given, TestCase) or any(name.startswith("test") for name in dir(given))


def _is_inside(inner: type, outer: type) -> bool:
    """Whether a class was written inside of another, and is not just named there."""
    return inner.__module__ == outer.__module__ and inner.__qualname__.startswith(f"{outer.__qualname__}.")


def _around_methods(context: Context, tests: Any) -> None:
    """pytest calls setup_method before the fixtures that the class or a test of it asks for, and its sibling after."""
    set_up, tear_down = getattr(tests, "setup_method", None), getattr(tests, "teardown_method", None)

    def setup_method(self: Any, method: Any = None) -> None:
        entered = context()
        entered.__enter__()
        try:
            _call(set_up, self, method)
        except BaseException:
            entered.__exit__(None, None, None)  # nothing is torn down that was not set up
            raise
        # Of a class in a class, pytest calls it for either of them, and each time in the inner one.
        self.__dict__.setdefault("_prejoin_entered", []).append(entered)

    def teardown_method(self: Any, method: Any = None) -> None:
        entered = getattr(self, "_prejoin_entered", None)
        if not entered:
            raise RuntimeError(
                f"{type(self).__name__}.setup_method does not call super().setup_method(), so its tests were not "
                f"inside of what {tests.__name__} is decorated with"
            )
        try:
            _call(tear_down, self, method)
        finally:
            entered.pop().__exit__(None, None, None)

    tests.setup_method, tests.teardown_method = setup_method, teardown_method


def _call(method: Callable[..., Any] | None, instance: Any, test: Any) -> None:
    """As pytest does it: the test is an argument for those that take one."""
    if method is not None:
        method(*(instance, test)[: method.__code__.co_argcount])
