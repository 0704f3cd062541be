//! Servers whose truth is known; loopback only.
