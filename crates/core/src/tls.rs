//! TLS configuration of the process: `rustls` with the cryptography of `ring`.

use std::{error::Error, io};

/// Installs the crypto provider that all clients of this process use. Must run before a client is
/// created. Repeated calls change nothing.
pub fn install_crypto_provider() {
    // The result is an error if a provider is installed already, which is the same one.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// Returns whether a connection failed because the peer is not trusted or does not speak TLS.
pub fn is_at_fault(failure: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(failure);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return true;
        }
        // `io::Error` does not return the error that it wraps from `source`.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}
