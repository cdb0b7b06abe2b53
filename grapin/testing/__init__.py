"""Property-based testing, ready to import: strategies and state machines."""
