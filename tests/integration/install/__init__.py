"""A package, unlike other folders of tests: pytest ends the control plane that they share with the last of them."""
