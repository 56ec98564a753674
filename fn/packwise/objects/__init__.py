"""Places in objects, the origin of what is made from one, and the objects that a render makes."""
