"""JSON Schemas of packwise's input files, for editors."""
