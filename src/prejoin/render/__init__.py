"""Step 3: a design as files. Each rendering is a pure function of a workload and its design."""
