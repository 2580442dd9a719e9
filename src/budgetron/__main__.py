"""``python -m budgetron`` is the command ``budgetron``."""

import sys

from budgetron.cli import main

if __name__ == "__main__":
    sys.exit(main())
