"""KAI as a scheduler of packwise: its objects, its rules and the fixes of users' objects."""
