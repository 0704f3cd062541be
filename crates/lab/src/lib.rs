//! The bench top: host facts, service processes, pinning, freezing, accounting, clean-up.
