//! Carries out a plan: lab, load, workload, judge and store together.
