"""Small differences on this machine: does `weigh` find them, and how long would alternating runs of other tools take?"""
