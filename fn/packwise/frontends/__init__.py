"""The protocol of a front end."""
