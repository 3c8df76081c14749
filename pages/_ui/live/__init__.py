"""Parts of the pages that measure: engines and their keys, runs, calibration, accuracy."""
