"""What flags can be set to, apart from the code behind it: ``--help`` must not import NumPy."""

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".json": "jsonl",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""The formats of tables, by the ends of file names."""

COUNTED = ("accuracy", "balanced_accuracy", "f1", "kappa", "kappa_temporal")
RANKED = ("auc",)
CALIBRATED = ("log_loss", "brier", "ece")
OF_COUNTS, OF_RANKS = ("precision", "recall"), ("average_precision", "precision_at")  # of one class
LABELS = (*COUNTED, *RANKED, *CALIBRATED, *OF_COUNTS, "average_precision")
"""The metrics of labels, and below those of targets."""
TARGETS = ("mae", "rmse", "r2", "pinball")
