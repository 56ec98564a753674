"""KAI's `allocate` action, which places one gang after another in the order of the queues."""
