"""The script every session runs: the frame, and inside it the page the address names."""

from pages._ui import frame

frame.run()
