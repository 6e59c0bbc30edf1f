"""`dqo simulate`: what Kueue will do with the Workloads of some manifests."""
