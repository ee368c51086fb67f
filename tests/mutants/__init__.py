"""Changes one thing at a time in what the rules are made of, and tells what no test notices."""
