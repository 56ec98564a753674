"""The TopologyRender: its records, the table of its fields, and its reader."""
