"""What `packwise place` prints: text, json, one module each."""
