"""Changes for the scheduler from one state to another."""
