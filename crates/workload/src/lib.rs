//! Workloads: which operations a session issues, with what payload and how a reply is checked.
