//! Listeners and web sockets over real sockets, with clients that misbehave.
#![cfg(test)]

mod connections;
mod websocket;
