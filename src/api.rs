//! The main HTTP API (port 5010).
