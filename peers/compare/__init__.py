"""Weighs the generator of `weigh` against the tools that its users know. Standard library only."""
