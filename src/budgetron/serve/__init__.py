"""``budgetron serve``: learn and predict over HTTP. README.md lists the files."""
