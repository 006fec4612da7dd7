"""What the persons service decides, and its transactions."""
