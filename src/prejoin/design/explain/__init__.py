"""Explains a design, for each entity, index, copy, pattern and partition, as text and as data."""

from prejoin.design.explain.alternatives import add_alternatives
from prejoin.design.explain.explanation import annotate, choices, explain, explain_design
from prejoin.design.explain.model import Explanation
from prejoin.design.explain.text import UnknownTopicError, as_markdown, as_text, topics, why

__all__ = [
    "Explanation",
    "UnknownTopicError",
    "add_alternatives",
    "annotate",
    "as_markdown",
    "as_text",
    "choices",
    "explain",
    "explain_design",
    "topics",
    "why",
]
