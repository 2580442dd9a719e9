"""What has been learned: the native model, labels, encoding and counts, and the files that hold them."""
