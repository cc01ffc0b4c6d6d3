"""`python -m sardonyx`: the same as the command `sardonyx`."""

from __future__ import annotations

import sys

from .cli import main

sys.exit(main())
