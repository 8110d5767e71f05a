//! The integration tests, one binary: the house rules, each engine's suite, the wire contracts, and
//! end to end with the real Codex.
#![cfg(test)]

mod chat;
mod circles;
mod clients;
mod codex;
mod command_line;
mod confinement;
mod conformance;
mod container_sandbox;
mod containers;
mod contract_api;
mod contract_chat;
mod contract_mcp;
mod contract_question;
mod contract_search;
mod documents;
mod embed_program;
mod embed_service;
mod embed_suite;
mod end_to_end;
mod forged;
mod growth;
mod hostile;
mod hostile_http;
mod ingest_bench;
mod ingest_discover;
mod ingest_hostile;
mod ingest_mend;
mod ingest_qdrant;
mod ingest_runs;
mod ingest_secrets;
mod keys;
mod listeners;
mod net;
mod real_source;
mod sealed;
mod search;
mod settings;
mod store_crash;
mod store_damage;
mod store_deferred;
#[cfg(target_os = "linux")]
mod store_disk;
mod store_embedded;
mod store_kills;
mod store_limits;
mod store_qdrant;
mod store_strange;
mod store_suite;
mod structure;
mod support;
mod tidy;
mod unseen;
mod watch;
mod wire;
