"""nanobench as a Python package: it finds LibTorch, then becomes the program (docs/package.md)."""
