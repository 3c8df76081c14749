"""Parts of the page on tails and limits: its controls, what it looks at, its views."""
