//! TLS as this process does it: `rustls` with the cryptography of `ring`.

use std::{error::Error, io};

/// Names the implementation that every client of this process uses; to be called before one is made.
/// Calling it again changes nothing.
pub fn install_crypto_provider() {
    // The one that was there first is as good: it is the same.
    drop(rustls::crypto::ring::default_provider().install_default());
}

/// Whether a connection failed because it could not be trusted, or does not speak TLS.
pub fn is_at_fault(failure: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(failure);
    while let Some(error) = cause {
        if error.is::<rustls::Error>() {
            return true;
        }
        // An error of input and output hides what it wraps from `source`.
        let wrapped = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match wrapped {
            Some(wrapped) => Some(wrapped),
            None => error.source(),
        };
    }
    false
}
