"""The functions of the database in Python, generated from their headers and the catalog by `python -m tests.generate`."""
