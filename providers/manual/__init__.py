"""Numbers that a person wrote, with overrides that begin and end."""
