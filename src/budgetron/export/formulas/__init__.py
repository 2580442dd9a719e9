"""A fitted model as plain numbers: all that a prediction needs, for those who compute it elsewhere."""
