"""A package, so that all of its tests share one daemon."""
