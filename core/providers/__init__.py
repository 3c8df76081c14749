"""Model endpoints behind one seam (`base.Provider`)."""
