"""Why a design is as it is: per entity, index, copy, pattern and partition, in words and as data."""

from prejoin.design.explain.alternatives import considered, without
from prejoin.design.explain.explanation import choices, explain, explain_design, told
from prejoin.design.explain.model import Alternative, Explanation
from prejoin.design.explain.text import UnknownTopicError, as_markdown, as_text, topics, why

__all__ = [
    "Alternative",
    "Explanation",
    "UnknownTopicError",
    "as_markdown",
    "as_text",
    "choices",
    "considered",
    "explain",
    "explain_design",
    "told",
    "topics",
    "why",
    "without",
]
