"""What `packwise fleet` prints: text, json, markdown, one module each."""
