"""The command `sardonyx`, also as `python -m sardonyx`."""

from __future__ import annotations

import sys


def main() -> int:
    """Run one command; its exit code, as of `cli.main`, which has yet to be loaded when a user may stop it."""
    try:
        from .cli import main
    except KeyboardInterrupt:
        sys.stderr.write("sardonyx: interrupted\n")
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(main())
