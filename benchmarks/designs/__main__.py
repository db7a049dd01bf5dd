"""`python benchmarks/designs FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

# Run by its path, and not as a module: then only this folder can be imported from.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from designs.command import main

sys.exit(main(sys.argv[1:]))
