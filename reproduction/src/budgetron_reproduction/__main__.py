"""``python -m budgetron_reproduction`` is the command ``budgetron-reproduce``."""

import sys

from budgetron_reproduction.command import main

if __name__ == "__main__":
    sys.exit(main())
