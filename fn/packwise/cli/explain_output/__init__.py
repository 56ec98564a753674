"""What an explanation prints, one module for each format."""
