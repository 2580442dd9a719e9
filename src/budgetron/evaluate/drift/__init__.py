"""Detectors of drift in what a model sees and does, which count rows."""
