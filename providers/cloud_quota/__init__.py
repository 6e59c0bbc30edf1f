"""What an account of a cloud may hold and does hold, by its quotas and reservations."""
