"""Trees, planes and images as plain numbers."""
