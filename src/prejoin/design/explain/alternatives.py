"""Adds what else could be done to an explanation: other designs, and what the document could give up."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from prejoin.design.explain.model import AboutPattern, Explanation
from prejoin.design.whatif.alternatives import MOST_ALTERNATIVES, TABLE_TOPIC, alternative_designs, copies_topic
from prejoin.design.whatif.attempt import WhatIf
from prejoin.design.whatif.filters import filter_alternatives
from prejoin.design.whatif.relaxations import relax_unserved
from prejoin.design.whatif.simplifications import simplify
from prejoin.design.whatif.workarounds import highest_price


def add_alternatives(what_if: WhatIf, explanation: Explanation, most: int = MOST_ALTERNATIVES) -> Explanation:
    """The explanation with alternatives for the table, copies, keys of entities and reads that are not served.

    At most `most` other designs for the same document are solved.
    """
    designs = alternative_designs(what_if, most)
    entities = [replace(about, alternatives=tuple(designs.get(about.entity, ()))) for about in explanation.entities]
    copies = []
    for about_copy in explanation.copies:
        alternatives = designs.get(copies_topic(about_copy.entity), ())
        copies.append(replace(about_copy, alternatives=tuple(alternatives)))
    return replace(
        explanation,
        entities=tuple(entities),
        copies=tuple(copies),
        patterns=_relax_patterns(what_if, explanation.patterns),
        alternatives=tuple(designs[TABLE_TOPIC]),
        relaxations=(*filter_alternatives(what_if), *simplify(what_if)),
    )


def _relax_patterns(what_if: WhatIf, patterns: Sequence[AboutPattern]) -> tuple[AboutPattern, ...]:
    """The patterns, with relaxations that make the solver serve those that are not served."""
    relaxations = relax_unserved(what_if)
    most_paid = highest_price(what_if.workload, what_if.design)
    result = []
    for about in patterns:
        if relaxed := relaxations.get(about.pattern):
            # Beside a relaxation, a workaround that costs many times the whole table is only noise.
            affordable = [workaround for workaround in about.alternatives if workaround.dollars <= most_paid]
            about = replace(about, alternatives=(*relaxed, *affordable))
        result.append(about)
    return tuple(result)
