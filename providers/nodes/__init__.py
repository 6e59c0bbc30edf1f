"""What providers that count nodes have in common: which nodes belong to a flavor, and which of them are usable."""
