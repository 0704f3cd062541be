//! Records in, summary out: estimates, verdicts, diagnosis, next step. Pure.
