"""The book of Grove's rules: in the webhook's order, each with the releases that have it."""
