"""The converter lives with the benchmarks that compare designs; tests find it there."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
