//! Starts and stops the whole server.
