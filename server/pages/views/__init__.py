"""What pages show beside their answers: pure functions of these, one module for each page."""
