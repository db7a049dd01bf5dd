"""Formats results as Markdown tables of ratios, for the terminal and the README."""

from __future__ import annotations

from common.tables import amount, table, times

from .results import AROUND, CPU, MEMORY, SIZE, TARGETS, WALL, Results, reached
from .ways import BY_ID

_HEADS = {
    CPU: "How many times less CPU in the client's process",
    WALL: "How many times less wall time (including the server)",
    AROUND: "How many times less for import, first answer, memory and disk",
}


def report(results: Results) -> str:
    """The results as ratios."""
    parts = [_where(results), *(_ratios(results, kind) for kind in results.columns), _targets(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def measured(results: Results) -> str:
    """The measured times, for the terminal. They depend on the machine, and are not written."""
    tables = []
    for kind, columns in results.columns.items():
        rows = [
            [way.name, *(_amount(column, results.cost(kind, column).get(way.id)) for column in columns)]
            for way in results.ways
        ]
        tables.append(f"{kind}:\n\n{table(['', *columns], rows)}")
    return "\n\n".join(tables)


def _where(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    lines = [
        f"Measured on {results.machine['cores']} cores, {results.machine['system']}; {versions}; "
        f"the server was {results.machine['server']}.",
        f"The interquartile range of a measurement is {results.spread:.0%} of its median (median of all).",
    ]
    lines += [f"Left out: {BY_ID[way].name} ({why})." for way, why in results.left_out.items()]
    return "\n".join(lines)


def _ratios(results: Results, kind: str) -> str:
    columns = results.columns[kind]
    references = {column: results.reference(kind, column) for column in columns}
    rows = []
    for way in results.ways:
        cells = []
        for column, reference in references.items():
            ratio = times(results.ratio(kind, column, way.id, reference))
            cells.append(f"**{ratio}**" if way.id == reference else ratio)
        rows.append([way.name, *cells])
    beside = " and ".join(BY_ID[reference].name for reference in dict.fromkeys(references.values()))
    return f"{_HEADS[kind]} than {beside} (bold, 1×):\n\n{table(['', *columns], rows)}"


def _targets(results: Results) -> str:
    rows = []
    for target in TARGETS:
        ratio = reached(results, target)
        if ratio is not None:
            verdict = "met" if ratio >= target.times else "missed"
            what = f"{target.column}, {target.kind}" if target.kind == CPU else target.column
            rows.append([what, BY_ID[target.beside].name, f"{target.times:.0f}×", f"{ratio:.1f}×", verdict])
    if not rows:
        return ""
    return f"Targets:\n\n{table(['', 'compared with', 'target', 'reached', ''], rows)}"


def _amount(column: str, cost: float | None) -> str:
    if cost is None:
        return "-"
    return f"{cost / 1e6:.1f} MB" if column in (MEMORY, SIZE) else amount(cost)
