"""Google Cloud: quotas of Compute Engine and of Cloud Quotas, reservations."""
