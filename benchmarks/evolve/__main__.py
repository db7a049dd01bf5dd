"""`python benchmarks/evolve`."""

from __future__ import annotations

import sys
from pathlib import Path

# Python adds only this folder to the path, because it is run by its path.
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from evolve.command import main

sys.exit(main(sys.argv[1:]))
