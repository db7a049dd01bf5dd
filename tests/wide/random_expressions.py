"""Random updates, filters and projections of one item with nested values: the same ones in each run."""

from __future__ import annotations

import random
from typing import Any

_NAMES = ("a", "b", "c", "d")
_STEPS = (".a", ".b", "[0]", "[1]")


class RandomExpressions:
    """Makes expressions, and collects the values that they name."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self.values: dict[str, Any] = {}

    def value(self, kinds: str = "SNNNBLLMMTUX0") -> dict[str, Any]:
        """A random value; the letters are its possible types. T and U are sets, X is a boolean, 0 is null."""
        pick = self._random
        match pick.choice(kinds):
            case "S":
                return {"S": pick.choice(("", "x", "ab", "b"))}
            case "N":
                return {"N": str(pick.choice((0, 1, -1, 2, 10)))}
            case "B":
                return {"B": pick.choice((b"", b"\x01", b"\x01\x02"))}
            case "L":
                return {"L": [self.value("SNMX0") for _ in range(pick.randrange(3))]}
            case "M":
                return {"M": {name: self.value("SNLX0") for name in pick.sample(_NAMES, pick.randrange(3))}}
            case "T":
                return {"SS": pick.sample(("a", "b", "c"), pick.randrange(1, 3))}
            case "U":
                return {"NS": pick.sample(("1", "2", "3"), pick.randrange(1, 3))}
            case "X":
                return {"BOOL": pick.random() < 0.5}
            case _:
                return {"NULL": True}

    def item(self) -> dict[str, Any]:
        return {name: self.value() for name in _NAMES}

    def path(self, name: str | None = None) -> str:
        steps = self._random.choices(_STEPS, k=self._random.choice((0, 0, 0, 0, 0, 1, 2)))
        return (name or self._random.choice(_NAMES)) + "".join(steps)

    def placeholder(self, kinds: str = "SNNNBLLMMTUX0") -> str:
        name = f":v{len(self.values)}"
        self.values[name] = self.value(kinds)
        return name

    def update(self) -> str:
        """An UpdateExpression. Its actions have attributes of their own, because paths that overlap are refused."""
        pick = self._random
        first, second, third, fourth = pick.sample(_NAMES, 4)
        sections = [
            f"SET {self.path(first)} = {self._set_value()}",
            f"REMOVE {self.path(second)}",
            f"ADD {self.path(third)} {self.placeholder('NTU')}",
            f"DELETE {self.path(fourth)} {self.placeholder('TU')}",
        ]
        chosen = pick.sample(sections, pick.choice((1, 1, 1, 2)))
        self._keep_used(" ".join(chosen))
        return " ".join(chosen)

    def _set_value(self) -> str:
        match self._random.randrange(6):
            case 0:
                return f"if_not_exists({self.path()}, {self.placeholder()})"
            case 1:
                return f"list_append({self.path()}, {self.placeholder('L')})"
            case 2:
                return f"({self.path()} {self._random.choice('+-')} {self.placeholder('N')})"
            case 3:
                return f"{self.placeholder('N')} + if_not_exists({self.path()}, {self.placeholder('N')})"
            case 4:
                return self.path()
            case _:
                return self.placeholder()

    def filter(self) -> str:
        text = self._condition(3)
        self._keep_used(text)
        return text

    def _condition(self, levels: int) -> str:
        pick = self._random
        match pick.randrange(9 if levels else 6):
            case 0 | 1:
                return f"{self._operand()} {pick.choice(('=', '<>', '<', '<=', '>', '>='))} {self._operand()}"
            case 2:
                return f"{self._operand()} IN ({self._operand()}, {self._operand()})"
            case 3:
                return f"{pick.choice(('attribute_exists', 'attribute_not_exists'))}({self.path()})"
            case 4:
                return f"contains({self.path()}, {self.placeholder('SNBX')})"
            case 5:
                return f"begins_with({self.path()}, {self.placeholder('SB')})"
            case 6:
                return f"NOT ({self._condition(levels - 1)})"
            case _:
                joint = pick.choice(("AND", "OR"))
                return f"({self._condition(levels - 1)}) {joint} ({self._condition(levels - 1)})"

    def _operand(self) -> str:
        match self._random.randrange(7):
            case 0:
                return f"size({self.path()})"
            case 1 | 2:
                return self.placeholder()
            case _:
                return self.path()

    def _keep_used(self, text: str) -> None:
        """Keep only the values that an expression names, because DynamoDB refuses others."""
        words = text.replace("(", " ").replace(")", " ").replace(",", " ").split()
        self.values = {name: value for name, value in self.values.items() if name in words}
