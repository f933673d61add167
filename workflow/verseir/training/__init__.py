"""Training encoders: folds, triplets, the loss, and the run that ends in a folder with an encoder."""
