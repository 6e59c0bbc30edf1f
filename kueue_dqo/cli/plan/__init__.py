"""`dqo plan`: what Dynamic Quota Orchestration would do, offline from manifests."""
