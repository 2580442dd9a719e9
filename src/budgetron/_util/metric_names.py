"""The names of the metrics."""

COUNTED = ("accuracy", "balanced_accuracy", "f1", "kappa", "kappa_temporal")
RANKED = ("auc",)
CALIBRATED = ("log_loss", "brier", "ece")
LABELS = (*COUNTED, *RANKED, *CALIBRATED)
TARGETS = ("mae", "rmse", "r2", "pinball")
