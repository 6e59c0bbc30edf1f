"""`dqo capacity`: the status of a CapacityProvider, written by hand."""
