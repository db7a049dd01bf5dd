"""Results as people read them: tables of ratios in Markdown, for the terminal and for the README."""

from __future__ import annotations

from common.tables import table, times

from .results import FIRST_ANSWER, MEMORY, TARGETS, Results, reached
from .ways import BY_ID


def report(results: Results) -> str:
    """All of it, in ratios."""
    parts = [_where(results), _ratios(results), _beside_moto(results), _targets(results), _growth(results)]
    return "\n\n".join(part for part in parts if part) + "\n"


def measured(results: Results) -> str:
    """What was measured, for whoever looks on: not for keeping, another machine has others."""
    rows = [
        [way.name, *(_amount(column, results.cost(column).get(way.id)) for column in results.columns)]
        for way in results.ways
    ]
    return table(["", *results.columns], rows)


def _where(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    lines = [
        f"Measured on {results.machine['cores']} cores, {results.machine['system']}; {versions}.",
        f"In the median case the middle half of the repetitions lies within {results.spread:.0%} of the median.",
    ]
    lines += [f"Left out: {BY_ID[way].name} ({why})." for way, why in results.left_out.items()]
    return "\n".join(lines)


def _ratios(results: Results) -> str:
    references = {column: results.reference(column) for column in results.columns}
    rows = []
    for way in results.ways:
        cells = []
        for column, reference in references.items():
            ratio = times(results.ratio(column, way.id, reference))
            cells.append(f"**{ratio}**" if way.id == reference else ratio)
        rows.append([way.name, *cells])
    peers = all(not BY_ID[reference].ours for reference in references.values())
    of = "the best other server with a boto3 client" if peers else "our own server with boto3, no other being there"
    head = f"Times as fast as {of} (bold, 1×)"
    if results.starts:
        head += "; for memory, times as small"
    return f"{head}:\n\n{table(['', *results.columns], rows)}"


def _beside_moto(results: Results) -> str:
    if not any(way.id == "moto" for way in results.ways):
        return ""
    rows = [
        [way.name, *(times(results.ratio(column, way.id, "moto")) for column in results.columns)]
        for way in results.ways
        if way.ours
    ]
    return f"Times as fast as moto in process with a boto3 client:\n\n{table(['', *results.columns], rows)}"


def _targets(results: Results) -> str:
    rows = []
    for target in TARGETS:
        found = reached(results, target)
        if found is not None:
            ratio, reference = found
            verdict = "met" if ratio >= target.times else "missed"
            name = BY_ID[reference].name
            rows.append([target.operation, name, f"{target.times:.0f}×", f"{ratio:.1f}×", verdict])
    if not rows:
        return ""
    head = ["call to object", "beside", "target", "reached", ""]
    return f"What the project has set itself:\n\n{table(head, rows)}"


def _growth(results: Results) -> str:
    if len({size.items for size in results.growth}) < 2:
        return ""
    operations = list(results.growth[0].seconds)
    smallest = {size.engine: size for size in reversed(results.growth)}
    rows = [
        [
            f"{size.items:,} items {'on a file' if size.engine == 'file' else 'in memory'}",
            *(
                times(size.seconds[operation].median / smallest[size.engine].seconds[operation].median)
                for operation in operations
            ),
        ]
        for size in results.growth
    ]
    least = f"{results.growth[0].items:,} items"
    head = f"Growth: the time that a call takes, bytes in and out, beside that at {least} (less is better)"
    return f"{head}:\n\n{table(['', *operations], rows)}"


def _amount(column: str, cost: float | None) -> str:
    if cost is None:
        return "-"
    if column == MEMORY:
        return f"{cost / 1e6:.0f} MB"
    if column == FIRST_ANSWER or cost >= 0.01:
        return f"{cost * 1e3:.0f} ms"
    return f"{cost * 1e6:.0f} µs"
