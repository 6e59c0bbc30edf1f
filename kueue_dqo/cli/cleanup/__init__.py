"""`dqo cleanup`: quotas that orchestrators have left behind, and their removal."""
