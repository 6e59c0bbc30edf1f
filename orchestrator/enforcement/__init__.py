"""The roads on which quotas take effect: `status` (Kueue 0.20's field) and `spec` (the Kueue that people run today)."""
