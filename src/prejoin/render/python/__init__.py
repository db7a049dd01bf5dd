"""Python from a design: entities, schema, repositories, tests and sample data, as a person would have written them."""

from .package import Options, render_python

__all__ = ["Options", "render_python"]
