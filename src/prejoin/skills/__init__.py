"""Skills: what an agent that drives the `prejoin` command has to know, a `SKILL.md` for each step of the pipeline."""
