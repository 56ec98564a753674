"""What a check prints: one module for each format; `formats` knows them all."""
