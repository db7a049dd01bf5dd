"""Renders `tests/test_repository.py`: tests that call each method on the embedded engine."""

from __future__ import annotations

TESTS = "tests/test_repository.py"
"""The file of the tests."""
