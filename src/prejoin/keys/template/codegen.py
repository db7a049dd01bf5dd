"""Functions generated from source code, for code that runs once per item. `dataclasses` creates `__init__` the same
way.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class FunctionSource:
    """The source of one function and the objects it refers to. The text contains only names created here."""

    def __init__(self) -> None:
        self.constants: dict[str, Any] = {}
        self._names = 0

    def constant(self, value: Any) -> str:
        """A name for an object that the code uses."""
        name = self.new_name("c")
        self.constants[name] = value
        return name

    def new_name(self, letter: str = "v") -> str:
        self._names += 1
        return f"{letter}{self._names}"

    def function(self, argument: str, text: str) -> Callable[[Any], Any]:
        return eval(f"lambda {argument}: {text}", dict(self.constants))  # type: ignore[no-any-return]  # noqa: S307

    def attempt(
        self, argument: str, text: str, otherwise: Callable[[Any], Any], *errors: type[Exception]
    ) -> Callable[[Any], Any]:
        """A function that calls another one if its own text raises one of these errors.

        >>> FunctionSource().attempt("values", "values['id']", lambda values: "none", KeyError)({})
        'none'
        """
        fallback_name, errors_name = self.constant(otherwise), self.constant(errors)
        names = dict(self.constants)
        lines = (
            f"def made({argument}):",
            f"  try: return {text}",
            f"  except {errors_name}: return {fallback_name}({argument})",
        )
        exec("\n".join(lines), names)  # noqa: S102
        return names["made"]  # type: ignore[no-any-return]
