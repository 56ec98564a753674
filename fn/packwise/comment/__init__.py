"""One comment on a pull request from check, diff and place."""
