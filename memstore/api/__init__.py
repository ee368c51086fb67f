"""The functions of the database in Python: `python -m tests.generate` writes them from header and catalog."""
