"""Node inventory: the allocatable resources of the nodes that match each flavor."""
