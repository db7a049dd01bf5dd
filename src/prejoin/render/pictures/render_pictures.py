"""All pictures of a design, by file: `render_pictures(workload, design)`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from prejoin.design.document.cells import write_code
from prejoin.design.model import TABLE, Design
from prejoin.render.documents.titles import page_title
from prejoin.render.pictures.collections import draw_slot
from prejoin.render.pictures.drawing import Drawing, write_svg
from prejoin.render.pictures.mermaid import mermaid_relations, mermaid_routes, mermaid_slot
from prejoin.render.pictures.relations import draw_relations
from prejoin.render.pictures.routes import draw_routes
from prejoin.workload.model import Workload

FOLDER = PurePosixPath("pictures")


def render_pictures(workload: Workload, design: Design) -> Mapping[PurePosixPath, str]:
    """The SVG files, and a page `README.md` that shows them and has each as Mermaid, too."""
    drawings = draw_all(workload, design)
    files = {FOLDER / f"{name}.svg": write_svg(drawing) for name, drawing in drawings.items()}
    files[FOLDER / "README.md"] = _page(workload, design, drawings)
    return files


def draw_all(workload: Workload, design: Design) -> dict[str, Drawing]:
    """The drawings, by the name of their file."""
    names = _file_names(design)
    return {
        "entities": draw_relations(workload, design),
        **{names[slot.name]: draw_slot(workload, design, slot) for slot in design.slots},
        "access-patterns": draw_routes(workload, design),
    }


def _file_names(design: Design) -> dict[str, str]:
    """A file name for each slot, of plain letters; all are different, whatever their case."""
    used_names = {"entities", "access-patterns", "readme"}
    file_names = {}
    for slot in design.slots:
        plain = re.sub(r"[^A-Za-z0-9_.-]+", "-", slot.name).strip("-.") or "index"
        name, number = plain, 2
        while name.lower() in used_names:
            name, number = f"{plain}-{number}", number + 1
        used_names.add(name.lower())
        file_names[slot.name] = name
    return file_names


def _page(workload: Workload, design: Design, drawings: Mapping[str, Drawing]) -> str:
    texts = dict(_mermaid(workload, design))
    parts = [page_title(workload, "pictures", design.table)]
    heads = {"entities": "Entities", "access-patterns": "Access patterns"}
    for slot, file_name in _file_names(design).items():
        heads[file_name] = "The table" if slot == TABLE else f"Index {write_code(slot)}"
    for name, drawing in drawings.items():
        parts.append(f"## {heads[name]}")
        parts.append(f"![{_alternative(drawing.title)}]({name}.svg)")
        parts.append(f"```mermaid\n{texts[name]}\n```")
    return "\n\n".join(parts) + "\n"


def _mermaid(workload: Workload, design: Design) -> Iterator[tuple[str, str]]:
    names = _file_names(design)
    yield "entities", mermaid_relations(workload)
    for slot in design.slots:
        yield names[slot.name], mermaid_slot(workload, design, slot)
    yield "access-patterns", mermaid_routes(workload, design)


def _alternative(title: str) -> str:
    """The text alternative, escaped for Markdown."""
    text = "".join(char if char.isprintable() else " " for char in title)
    return re.sub(r"([\[\]\\`*_<>&!])", r"\\\1", " ".join(text.split()))
