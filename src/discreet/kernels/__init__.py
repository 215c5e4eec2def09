"""How it is summed: array kernels, one file for each family of models."""

import os

# Idle threads sleep instead of spinning: on a machine that also does other work, a parallel loop costs
# milliseconds otherwise. Read when numba starts its threads, so it is set before any kernel is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
