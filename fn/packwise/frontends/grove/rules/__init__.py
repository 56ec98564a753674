"""The rules of Grove's webhook, in its order. Each rule has the releases to which it applies."""
