"""The parts of the page "Technique catalogue": the list, one technique in detail, the claims."""
