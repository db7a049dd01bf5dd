"""The pages of a design, by file: `render_documents(workload, design)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from prejoin.design.model import Design
from prejoin.render.documents.key_map import key_map
from prejoin.render.documents.query_interfaces import query_interfaces
from prejoin.render.python.method import Method
from prejoin.render.python.names import names_of
from prejoin.workload.model import Workload


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    methods: Mapping[str, Method] | None = None
    """The methods of the generated repository, by pattern; None where no code is generated."""
    passed_tests: frozenset[str] | None = None
    """The tests that were run and passed; None where none were run."""
    unproven: Mapping[str, str] = field(default_factory=dict)
    """The patterns that are not proven, with the reasons."""
    tests: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The names of the generated tests, by pattern."""


def render_documents(
    workload: Workload, design: Design, options: DocumentOptions | None = None
) -> Mapping[PurePosixPath, str]:
    """`query-interfaces.md` and `keys.md`."""
    options = options or DocumentOptions()
    names = names_of(workload).methods
    return {
        PurePosixPath("query-interfaces.md"): query_interfaces(
            workload, design, names, options.methods, options.passed_tests, options.unproven, options.tests
        ),
        PurePosixPath("keys.md"): key_map(workload, design),
    }
