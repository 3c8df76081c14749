"""Everything round the model that can run in process: encoders, indexes, caches, routing."""
