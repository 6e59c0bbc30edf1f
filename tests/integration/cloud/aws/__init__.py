"""A package, unlike other folders of tests: pytest ends the daemon that its tests share with the last of them."""
