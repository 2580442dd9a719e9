"""The engine of ``device="cuda"``: rows are learned in blocks, as products of matrices and a short walk."""
