"""``budgetron serve``: learn and predict over HTTP. See README.md here, and docs/service.md for the contract."""
