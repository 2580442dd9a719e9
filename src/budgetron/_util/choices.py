"""What flags can be set to, apart from the code behind it: ``--help`` must not import NumPy."""

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
"""The formats of tables, by the ends of file names."""

COUNTED = ("accuracy", "balanced_accuracy", "f1", "kappa", "kappa_temporal")
RANKED = ("auc",)
CALIBRATED = ("log_loss", "brier", "ece")
LABELS = (*COUNTED, *RANKED, *CALIBRATED)
"""The metrics of labels, and below those of targets."""
TARGETS = ("mae", "rmse", "r2", "pinball")
