//! Drives one long-lived `codex app-server` over its standard streams.
