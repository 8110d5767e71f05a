//! How a process of a toolkit is started within its fence: the sandbox of Codex.
