"""The facets of a design and of its generated schema, in a comparable form."""

from __future__ import annotations

from collections.abc import Mapping

from prejoin import keys
from prejoin.design.mapping.facets import planner_facets
from prejoin.design.model import Design
from prejoin.proof.package import load_package
from prejoin.workload.model import Workload

Facets = list[tuple[object, ...]]


def design_facets(workload: Workload, design: Design) -> Facets:
    """The facets of a design, without those of the parts of large contents."""
    own = [facet for facet in planner_facets(design, workload) if workload.entity(facet.entity)]
    return sorted((_shown(facet, facet.entity, {}) for facet in own), key=str)


def schema_facets(workload: Workload, design: Design) -> Facets:
    """The facets of the schema, with the document's names of attributes in place of fields; guards left out."""
    package = load_package(workload, design)
    entities = {item.tag: item.entity for item in design.items if not item.copy}
    names = {entity: {field: name for name, field in fields.items()} for entity, fields in package.fields.items()}
    own = [(facet, entities[facet.entity]) for facet in package.schema.facets if facet.entity in entities]
    return sorted((_shown(facet, entity, names[entity]) for facet, entity in own), key=str)


def _shown(facet: keys.Facet, entity: str, names: Mapping[str, str]) -> tuple[object, ...]:
    texts = [_text(form, names) for form in (facet.pk, facet.sk)]
    when = sorted(((names.get(w.attribute, w.attribute), w.values) for w in facet.when), key=str)
    holds = None if facet.holds is None else frozenset(names.get(name, name) for name in facet.holds)
    return entity, facet.slot, *texts, when, facet.copy, holds


def _text(form: keys.Template | keys.Natural | None, names: Mapping[str, str]) -> object:
    if isinstance(form, keys.Natural):
        return [names.get(name, name) for name in form.attributes]
    return keys.renamed(form.text, names) if form and names else form and form.text
