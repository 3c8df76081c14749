"""What the lab pages draw; what they show is worked out in `core.labs`."""
