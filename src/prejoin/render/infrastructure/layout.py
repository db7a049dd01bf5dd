"""Layout of code: on one line if it fits, else one part per line."""

from __future__ import annotations

from collections.abc import Sequence

Lines = list[str]


def laid_out(opening: str, parts: Sequence[Lines], closing: str, room: int, step: str) -> Lines:
    """Parts between brackets, in the width that is left.

    >>> laid_out("f(", [["a"], ["b"]], ")", 20, "  ")
    ['f(a, b)']
    >>> laid_out("f(", [["a"], ["b"]], ")", 5, "  ")
    ['f(', '  a,', '  b,', ')']
    """
    if not parts:
        return [f"{opening}{closing}"]
    first_lines = [part[0] for part in parts]
    line = f"{opening}{', '.join(first_lines)}{closing}"
    if max(map(len, parts)) == 1 and len(line) <= room:
        return [line]
    lines = [opening.rstrip()]
    for part in parts:
        lines += [f"{step}{part_line}" for part_line in part[:-1]]
        lines.append(f"{step}{part[-1]},")
    return [*lines, closing.lstrip()]
