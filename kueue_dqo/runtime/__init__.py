"""How a daemon lives in a cluster: client, caches, work queues, leader election, Events, health and metrics, logs."""
