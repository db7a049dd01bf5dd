"""Charts of samples: one machine over time, all machines now, the busiest of a day."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence

from prejoin import Page

from metrics.entities import Sample
from metrics.repository import MetricsRepository

BARS = "▁▂▃▄▅▆▇█"


def all_pages(read: Callable[[str | None], Page[Sample]]) -> Iterator[Sample]:
    cursor = None
    while True:
        page = read(cursor)
        yield from page
        if (cursor := page.cursor) is None:
            return


def samples_of(repository: MetricsRepository, host: str, since: dt.datetime, until: dt.datetime) -> Iterator[Sample]:
    return all_pages(lambda after: repository.resource_over_span_of_time(host, since, until, after=after))


def show(repository: MetricsRepository, host: str, since: dt.datetime, until: dt.datetime, width: int = 60) -> str:
    """A host between two times, one line for each measurement."""
    columns: list[list[Sample]] = [[] for _ in range(width)]
    for sample in samples_of(repository, host, since, until):
        columns[min(width - 1, int((sample.recorded_at - since) / (until - since) * width))].append(sample)
    count = sum(map(len, columns))
    lines = [f"{host}, {since:%Y-%m-%d %H:%M:%S} to {until:%Y-%m-%d %H:%M:%S} UTC: {count} samples"]
    for name, unit in (("cpu", "%"), ("memory", "%"), ("traffic", "bytes")) if count else ():
        means = [sum(float(getattr(s, name)) for s in column) / len(column) if column else None for column in columns]
        most = max(getattr(s, name) for column in columns for s in column)
        lines.append(f"{name:8} {sparkline(means)}  at most {most:,} {unit}")
    return "\n".join(lines)


def wall(repository: MetricsRepository, now: dt.datetime) -> str:
    """The latest sample of every host, of the last minute."""
    latest: dict[str, Sample] = {}
    for sample in all_pages(lambda after: repository.what_all_resources_said_in_last_minute(now=now, after=after)):
        latest.setdefault(sample.resource_id, sample)
    rows = [f"{name:20} {s.cpu:>6} % {s.memory:>6} %  {s.recorded_at:%H:%M:%S}" for name, s in sorted(latest.items())]
    return "\n".join([f"{'host':20} {'cpu':>8} {'memory':>8}  at", *rows])


def league(repository: MetricsRepository, day: dt.date) -> str:
    """The ten busiest machines of a day."""
    found = repository.busiest_resources_of_day(day)
    return "\n".join(f"{rank:>3}  {one.resource_id:20} {one.cpu_max:>6} %" for rank, one in enumerate(found, 1))


def sparkline(values: Sequence[float | None]) -> str:
    """A bar for each value, from 0 to the largest; a gap for None.

    >>> sparkline([0, 1, None, 2, 4])
    '▁▃ ▅█'
    """
    most = max((value for value in values if value is not None), default=0) or 1
    return "".join(" " if value is None else BARS[round(value / most * (len(BARS) - 1))] for value in values)
