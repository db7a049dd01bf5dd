"""A design as pictures: SVG drawn by hand, and Mermaid. What is pictured is all made from the workload and design."""
