"""Titles of pages."""

from __future__ import annotations

from prejoin.design.document.cells import write_heading
from prejoin.workload.model import Workload


def page_title(workload: Workload, subject: str, otherwise: str = "") -> str:
    """The first line of a page.

    >>> page_title(Workload(title="Shop (new)"), "keys"), page_title(Workload(), "keys")
    ('# Shop (new): keys', '# Keys')
    >>> page_title(Workload(title="<b>"), "keys")
    '# `<b>`: keys'
    """
    title = " ".join(workload.title.split()) or otherwise
    if not title:
        return f"# {subject[0].upper()}{subject[1:]}"
    return f"# {write_heading(title)}: {subject}"
