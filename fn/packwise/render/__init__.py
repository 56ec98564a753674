"""The files of a render: printed, or written into a folder."""
