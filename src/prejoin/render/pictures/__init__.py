"""Pictures of a design, as SVG and Mermaid."""
