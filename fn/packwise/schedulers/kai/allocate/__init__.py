"""KAI's allocate action: gang after gang in queue order."""
