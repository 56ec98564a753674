"""What a comparison prints: one module for each format."""
