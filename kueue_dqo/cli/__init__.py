"""The command `dqo`: the top layer, which puts the parts together. Each group loads its code when it is called."""
