"""The capacity side: sources that observe what is there, and report it as the status of CapacityProviders."""
