"""`python benchmarks/migrate`."""

from __future__ import annotations

import sys
from pathlib import Path

# Run by its path, and not as a module: then only this folder and the servers of the wide tests can be imported from.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from migrate.command import main

sys.exit(main(sys.argv[1:]))
