"""Saved models: descriptions as JSON, arrays as bytes, and files that are replaced in one step."""
