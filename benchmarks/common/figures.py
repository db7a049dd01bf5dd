"""A figure: the median and quartiles of several measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Figure:
    """The median and quartiles of the repetitions, in seconds unless stated otherwise."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """The interquartile range divided by the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


def figure(samples: Sequence[float]) -> Figure:
    low, _, high = quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else [samples[0]] * 3
    return Figure(median(samples), low, high)


def usual_spread(figures: Iterable[Figure]) -> float:
    """The median of the spreads."""
    parts = sorted(figure.spread for figure in figures)
    return parts[len(parts) // 2]


def rounded(number: float) -> float:
    """Rounds to four significant digits."""
    return float(f"{number:.4g}")
