"""`dqo provider cloud-quota --once`: what accounts of clouds would be published as, without a cluster."""
