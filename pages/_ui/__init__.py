"""What pages share: the frame, the language, components. Nothing here computes a latency."""
