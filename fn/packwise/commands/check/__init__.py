"""`packwise check`: what is wrong, in every format; what a change reaches."""
