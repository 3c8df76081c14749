"""What should I do first? Values of sets of techniques, the best ones, and who earned the gain."""
