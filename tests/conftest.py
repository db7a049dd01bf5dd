"""How properties are tested: no deadlines, for machines are busy; in CI the same examples each time, elsewhere new ones.

And what tests leave behind in another DynamoDB is removed.
"""

from __future__ import annotations

import os

from hypothesis import settings

from tests.place import examples, leave, tidy

EXAMPLES = examples(int(os.environ.get("PREJOIN_EXAMPLES", "40")))
"""scripts/soak asks for more."""

settings.register_profile("anywhere", deadline=None, print_blob=True, max_examples=EXAMPLES)
settings.register_profile("ci", deadline=None, print_blob=True, max_examples=EXAMPLES, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "anywhere")


def pytest_runtest_teardown() -> None:
    tidy()


def pytest_sessionfinish() -> None:
    leave()
