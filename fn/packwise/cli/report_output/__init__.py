"""What `packwise report` draws: html, svg, mermaid, one module each."""
