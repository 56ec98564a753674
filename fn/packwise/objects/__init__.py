"""Places in objects, the origins of derived objects, and the objects that a render makes."""
