"""The minimum, maximum or sum of other CapacityProviders."""
