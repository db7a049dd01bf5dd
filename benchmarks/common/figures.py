"""A figure: what several repetitions of a measurement come to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median, quantiles


@dataclass(frozen=True)
class Figure:
    """The median of the repetitions, and their quartiles. Seconds, unless it is said otherwise."""

    median: float
    low: float
    high: float

    @property
    def spread(self) -> float:
        """The middle half of the repetitions, as a part of the median."""
        return (self.high - self.low) / self.median if self.median else 0.0


def figure(samples: Sequence[float]) -> Figure:
    low, _, high = quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else [samples[0]] * 3
    return Figure(median(samples), low, high)


def usual_spread(figures: Iterable[Figure]) -> float:
    """The spread of the median case."""
    parts = sorted(figure.spread for figure in figures)
    return parts[len(parts) // 2]


def rounded(number: float) -> float:
    """With the digits that a measurement has."""
    return float(f"{number:.4g}")
