"""`python -m kueue_dqo.cli` is `dqo`."""

from kueue_dqo.cli.main import main

if __name__ == "__main__":
    main()
