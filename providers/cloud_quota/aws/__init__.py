"""AWS: quotas of Service Quotas, capacity reservations and capacity blocks of EC2."""
