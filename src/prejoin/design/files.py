"""Designs in files, as YAML or JSON: read with a message where a file is not a design."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from prejoin.design import codes
from prejoin.design.facets import planner_facets
from prejoin.design.model import TABLE, Design
from prejoin.diagnostics import Diagnostic
from prejoin.keys import TemplateError
from prejoin.workload.model import Workload
from prejoin.workload.trees import Form, NotATreeError, convert_tree, read_tree, write_tree


def read_design(text: str, workload: Workload, form: Form = "yaml") -> tuple[Design | None, tuple[Diagnostic, ...]]:
    """The design in a text, for a workload; None and why where it is not one."""
    try:
        plain, spans = read_tree(text, form)
        design: Design = convert_tree(plain, spans, Design)
    except NotATreeError as problem:
        fix = "compare with a design that prejoin wrote"
        return None, (codes.NOT_A_DESIGN.at(problem.span, f"this is not a design in {form.upper()}: {problem}", fix),)
    problems = tuple(_problems(design, workload))
    return (None if problems else design), problems


def write_design(design: Design, form: Form = "yaml") -> str:
    return write_tree(msgspec.to_builtins(design, str_keys=True), form)


def _problems(design: Design, workload: Workload) -> list[Diagnostic]:
    found = []
    if not re.fullmatch(r"[A-Za-z0-9_.-]{3,255}", design.table):
        found.append(
            _wrong(f"`{design.table}` cannot be the name of a table", "use 3 to 255 letters, digits, `_`, `-` and `.`")
        )
    names = [slot.name for slot in design.slots]
    if not names or names[0] != TABLE:
        found.append(_wrong("the first slot is not the table", f"name it `{TABLE}`"))
    for item in design.items:
        if workload.entity(item.entity) is None:
            found.append(_wrong(f"there is no entity `{item.entity}` in the workload", "name one of its entities"))
        if not item.facets or item.facets[0].slot != TABLE:
            found.append(
                _wrong(f"the first facet of `{item.entity}` is not in the table", f"begin with slot `{TABLE}`")
            )
        for facet in item.facets:
            slot = design.slot(facet.slot)
            if slot is None:
                found.append(_wrong(f"there is no slot `{facet.slot}`", f"the slots are {', '.join(names)}"))
            elif (len(facet.pk), len(facet.sk)) != (len(slot.pk), len(slot.sk)):
                found.append(
                    _wrong(
                        f"`{item.entity}` has not as many keys in `{slot.name}` as that has attributes", "give one each"
                    )
                )
    homeless = [e.name for e in workload.entities if design.item(e.name) is None]
    found += [
        _wrong(f"the entity `{name}` has no item", "add it to `items`, with a key in the table") for name in homeless
    ]
    if not found:
        try:
            planner_facets(design, workload)
        except TemplateError as problem:
            found.append(_wrong(str(problem), "name attributes of the entity"))
    return found


def _wrong(message: str, fix: str) -> Diagnostic:
    return codes.NOT_A_DESIGN.at(None, message, fix)


def design_beside(document: Path) -> Path:
    """Where the design of a document is kept: beside it."""
    return document.with_name("table-design.yaml")
