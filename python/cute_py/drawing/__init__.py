"""Pictures: what one of a layout, an atom or a tiling shows, and how it becomes SVG, LaTeX and HTML."""
