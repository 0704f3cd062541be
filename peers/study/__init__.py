"""What window length, estimator, order, freezing, rounds and blocks buy, measured on real services; see ../trust/README.md."""
