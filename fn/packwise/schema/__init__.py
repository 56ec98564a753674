"""JSON Schemas of what packwise reads, for editors."""
