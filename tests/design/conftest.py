"""Explanations and commands solve a document once in a process; tests of the solver call it themselves."""

from tests.solutions import solved_once as solved_once
