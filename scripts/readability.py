#!/usr/bin/env python3
"""Counts what makes code slow to read, for each package, against ceilings that only fall.

    scripts/readability.py                 the table of src/prejoin
    scripts/readability.py PATH            the table of another tree, by the same counters
    scripts/readability.py --list PATH     where the counted names and functions are
    scripts/readability.py --check         fails if a package is above its ceiling (scripts/check runs it)
    scripts/readability.py --lower         lowers the ceilings to what is counted now

Columns:

- vague: bound names (variables, parameters) that are only a pronoun or a participle: `one`, `found`, `rest`
- participles: functions whose name is one participle: `_given`
- nodes: syntax nodes in a statement, of Python's `ast`
- comprehensions: in 100 lines of code (without blank lines, comments and docstrings)
- complexity: mean number of paths through a function; `over 15`: functions with more than 15
- comments: lines with nothing but a comment, in 100 lines of the files
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "prejoin"
CEILINGS = Path(__file__).with_suffix(".json")
COLUMNS = ("vague", "participles", "nodes", "comprehensions", "complexity", "over 15", "comments")
COMPLEX = 15
"""The complexity up to which a function is read in one go."""


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PRONOUNS = words(
    "one ones others another it its that these those what which who whose where there here any both each either every "
    "everything few less least many more most much neither none nothing rest same several some something such so then "
    "away apart together alone again also else whole thing things"
)
IRREGULAR = words(
    "found known given kept held made written chosen taken told said seen gone done left lost meant sent shown built "
    "drawn begun broken hidden laid led paid sold spent sought thrown understood won brought caught come become fallen "
    "felt fought forgotten grown heard met ridden risen sunk stood struck worn borne lain"
)
NOUNS = words("need seed feed speed bed embed shed red indeed hundred exceed proceed succeed")
"""Words in -ed that are no participles."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(slots=True)
class Count:
    """What is counted in some files."""

    names: int = 0
    vague: int = 0
    functions: int = 0
    participles: int = 0
    nodes: int = 0
    statements: int = 0
    code_lines: int = 0
    all_lines: int = 0
    comprehensions: int = 0
    complexity: int = 0
    complex_functions: int = 0
    comments: int = 0
    classes: Counter[str] = field(default_factory=Counter)

    def add(self, other: Count) -> None:
        for name in self.__slots__:
            if name == "classes":
                self.classes.update(other.classes)
            else:
                setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def figures(self) -> dict[str, float]:
        """The figures of the table, by column."""
        return {
            "vague": _ratio(100 * self.vague, self.names),
            "participles": _ratio(100 * self.participles, self.functions),
            "nodes": _ratio(self.nodes, self.statements),
            "comprehensions": _ratio(100 * self.comprehensions, self.code_lines),
            "complexity": _ratio(self.complexity, self.functions),
            "over 15": self.complex_functions,
            "comments": _ratio(100 * self.comments, self.all_lines),
        }


@dataclass(frozen=True, slots=True)
class Place:
    """A name that is counted as vague, or a function that is counted as complex."""

    path: Path
    line: int
    text: str


def is_participle(name: str) -> bool:
    """Whether a name is one participle.

    >>> [name for name in ("_given", "placed", "placed_items", "need") if is_participle(name)]
    ['_given', 'placed']
    """
    word = name.strip("_").lower()
    return word in IRREGULAR or (word.endswith("ed") and "_" not in word and len(word) > 3 and word not in NOUNS)


def is_vague(name: str) -> bool:
    return name.strip("_").lower() in PRONOUNS or is_participle(name)


def count_file(path: Path) -> Count:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    count = Count(all_lines=text.count("\n"))
    for name, _ in bound_names(tree):
        count.names += 1
        count.vague += is_vague(name)
    for function in functions_of(tree):
        complexity = complexity_of(function)
        count.functions += 1
        count.participles += is_participle(function.name)
        count.complexity += complexity
        count.complex_functions += complexity > COMPLEX
    for node in ast.walk(tree):
        count.nodes += 1
        count.statements += isinstance(node, ast.stmt)
        count.comprehensions += isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp)
        if isinstance(node, ast.ClassDef):
            count.classes[node.name] += 1
    code, count.comments = _lines_of(text)
    count.code_lines = len(code - _docstring_lines(tree))
    return count


def bound_names(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """The names that a file binds to values, with their lines. Attributes, functions and imports do not count."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store()):
                yield node.id, node.lineno
            case ast.arg():
                yield node.arg, node.lineno
            case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar() if node.name:
                yield node.name, node.lineno


def functions_of(tree: ast.AST) -> Iterator[Function]:
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def complexity_of(function: Function) -> int:
    """One more than the decisions of a function, without those of functions within it."""
    decisions = 0
    waiting = list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, Function):
            continue
        waiting += ast.iter_child_nodes(node)
        match node:
            case ast.If() | ast.For() | ast.AsyncFor() | ast.While() | ast.ExceptHandler() | ast.IfExp():
                decisions += 1
            case ast.match_case():
                decisions += 1
            case ast.BoolOp():
                decisions += len(node.values) - 1
            case ast.comprehension():
                decisions += 1 + len(node.ifs)
    return decisions + 1


def _lines_of(text: str) -> tuple[set[int], int]:
    """The lines with code, docstrings included, and the number of lines with nothing but a comment."""
    nothing = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    code: set[int] = set()
    comments = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            comments += token.line.lstrip().startswith("#")
        elif token.type not in nothing:
            code.update(range(token.start[0], token.end[0] + 1))
    return code, comments


def _docstring_lines(tree: ast.AST) -> set[int]:
    """The lines of texts that stand by themselves: docstrings, and those behind attributes."""
    lines: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return lines


def _ratio(part: float, whole: float) -> float:
    return round(part / whole, 1) if whole else 0.0


def count_tree(root: Path) -> dict[str, Count]:
    """The counts of each package below a folder, and of all of it."""
    everything = Count()
    packages: dict[str, Count] = {}
    for path in sorted(root.rglob("*.py")):
        within = path.relative_to(root).parts
        count = count_file(path)
        everything.add(count)
        packages.setdefault(within[0] if len(within) > 1 else "(top)", Count()).add(count)
    return {**packages, "all": everything}


def places_of(path: Path) -> Iterator[Place]:
    for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
        tree = ast.parse(file.read_text(encoding="utf-8"))
        places = [Place(file, line, f"name {name}") for name, line in bound_names(tree) if is_vague(name)]
        for function in functions_of(tree):
            complexity = complexity_of(function)
            if is_participle(function.name):
                places.append(Place(file, function.lineno, f"function {function.name}"))
            if complexity > COMPLEX:
                places.append(Place(file, function.lineno, f"complexity {complexity} of {function.name}"))
        yield from sorted(places, key=lambda place: place.line)


def print_table(counts: dict[str, Count]) -> None:
    print(f"{'':12}" + "".join(f"{column:>15}" for column in COLUMNS))
    for package, count in counts.items():
        print(f"{package:12}" + "".join(f"{figure:>15g}" for figure in count.figures.values()))
    everything = counts["all"]
    twice = sorted(name for name, number in everything.classes.items() if number > 1)
    print(f"\n{everything.nodes:,} syntax nodes in {everything.code_lines:,} lines of code")
    print(f"{len(twice)} class names are defined more than once: {', '.join(twice)}")


def read_ceilings() -> dict[str, dict[str, float]]:
    ceilings: dict[str, dict[str, float]] = json.loads(CEILINGS.read_text(encoding="utf-8"))
    return ceilings


def is_worse(column: str, figure: float, ceiling: float) -> bool:
    """Whether a figure is worse than its ceiling; of comments, a few more are better."""
    return figure < ceiling if column == "comments" else figure > ceiling


def excesses(counts: dict[str, Count], ceilings: dict[str, dict[str, float]]) -> list[str]:
    """A line for each figure that is worse than its ceiling."""
    return [
        f"{package}: {column} is {figure:g}, and its ceiling {ceilings[package][column]:g}"
        for package, count in counts.items()
        if package in ceilings
        for column, figure in count.figures.items()
        if is_worse(column, figure, ceilings[package][column])
    ]


def lowered(counts: dict[str, Count], ceilings: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """The ceilings after they fell to what is counted. None rises."""
    result: dict[str, dict[str, float]] = {}
    for package, count in counts.items():
        former = ceilings.get(package, {})
        result[package] = {
            column: former[column] if column in former and is_worse(column, figure, former[column]) else figure
            for column, figure in count.figures.items()
        }
    return result


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", nargs="?", type=Path, default=SOURCE)
    parser.add_argument("--list", action="store_true", help="list the counted names and functions")
    parser.add_argument("--check", action="store_true", help="fail if a package is above its ceiling")
    parser.add_argument("--lower", action="store_true", help="lower the ceilings to what is counted")
    options = parser.parse_args()
    if options.list:
        for place in places_of(options.path):
            print(f"{place.path}:{place.line}: {place.text}")
        return 0
    counts = count_tree(options.path)
    if options.lower:
        ceilings = read_ceilings() if CEILINGS.exists() else {}
        CEILINGS.write_text(json.dumps(lowered(counts, ceilings), indent=2) + "\n", encoding="utf-8")
    if not options.check:
        print_table(counts)
        return 0
    texts = excesses(counts, read_ceilings())
    for text in texts:
        print(text, file=sys.stderr)
    if texts:
        print("`scripts/readability.py --list src/prejoin/…` shows where they are", file=sys.stderr)
    return bool(texts)


if __name__ == "__main__":
    sys.exit(main())
