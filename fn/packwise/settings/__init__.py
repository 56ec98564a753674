"""The TopologyRender: its records, the table of its fields, and how it is read."""
