"""Key templates, and the planner: from attributes given to the index and key condition that answer."""

from .ask import Ask, Order, Role, Within
from .condition import Bounds, KeyCondition, KeyValue, Scalar
from .errors import KeyValueError, TemplateError
from .facet import TABLE, Facet, KeyForm, When
from .fit import Fan
from .guard import guard_key
from .natural import Natural, Tag, tag_of
from .parts import Field, Literal
from .planner import Plan, Reason, Refusal, conditions, plan
from .region import Region
from .separator import Separator
from .template import Template, disjoint, fields_of, prefix_free, renamed

__all__ = [
    "TABLE",
    "Ask",
    "Bounds",
    "Facet",
    "Fan",
    "Field",
    "KeyCondition",
    "KeyForm",
    "KeyValue",
    "KeyValueError",
    "Literal",
    "Natural",
    "Order",
    "Plan",
    "Reason",
    "Refusal",
    "Region",
    "Role",
    "Scalar",
    "Separator",
    "Tag",
    "Template",
    "TemplateError",
    "When",
    "Within",
    "conditions",
    "disjoint",
    "fields_of",
    "guard_key",
    "plan",
    "prefix_free",
    "renamed",
    "tag_of",
]
