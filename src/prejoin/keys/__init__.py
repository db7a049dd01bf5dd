"""Key templates, and the planner: which index and key condition serve a lookup by some attributes."""

from prejoin.keys.planner.key_condition import Bounds, KeyCondition, KeyValue, Scalar
from prejoin.keys.planner.lookup import AttributeRole, Lookup, Order, Within
from prejoin.keys.planner.match import Fan
from prejoin.keys.planner.plan import Plan, conditions
from prejoin.keys.planner.planner import Reason, Refusal, plan, remedy
from prejoin.keys.planner.scope import SortKeyScope
from prejoin.keys.template.natural import Natural, Tag, tag_of
from prejoin.keys.template.parts import KeyField, KeyText
from prejoin.keys.template.separator import Separator
from prejoin.keys.template.template import Template, disjoint, fields_of, prefix_free, renamed

from .errors import KeyValueError, TemplateError
from .facet import TABLE, Facet, KeyForm, When

__all__ = [
    "TABLE",
    "AttributeRole",
    "Bounds",
    "Facet",
    "Fan",
    "KeyCondition",
    "KeyField",
    "KeyForm",
    "KeyText",
    "KeyValue",
    "KeyValueError",
    "Lookup",
    "Natural",
    "Order",
    "Plan",
    "Reason",
    "Refusal",
    "Scalar",
    "Separator",
    "SortKeyScope",
    "Tag",
    "Template",
    "TemplateError",
    "When",
    "Within",
    "conditions",
    "disjoint",
    "fields_of",
    "plan",
    "prefix_free",
    "remedy",
    "renamed",
    "tag_of",
]
