"""The parts of the page "Advice": what is asked, and each view of the answer."""
