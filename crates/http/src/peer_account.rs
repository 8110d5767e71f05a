//! Detects loopback connections from another account of this machine.
//!
//! Only Linux offers this cheaply: a `NETLINK_SOCK_DIAG` request for the one socket at the other
//! end takes as long with many sockets as with few. Elsewhere `AUTH` defaults to `required`.

use std::io;
#[cfg(target_os = "linux")]
use std::net::SocketAddr;

use tokio::net::TcpStream;

/// Looks up the accounts of connections.
#[derive(Debug)]
pub(super) struct PeerAccounts {
    /// `None` if the kernel refuses lookups; every account then counts as another one.
    #[cfg(target_os = "linux")]
    kernel: Option<std::sync::Mutex<kernel::SocketDiagnostics>>,
}

#[cfg(not(target_os = "linux"))]
impl PeerAccounts {
    pub(super) fn open() -> Self {
        Self {}
    }

    /// Returns `false`, because this system has no lookup.
    pub(super) fn is_another(&self, _stream: &TcpStream) -> io::Result<bool> {
        Ok(false)
    }
}

#[cfg(target_os = "linux")]
impl PeerAccounts {
    pub(super) fn open() -> Self {
        let opened = kernel::SocketDiagnostics::open().inspect_err(|error| {
            tracing::warn!(%error, "accounts cannot be looked up: requests over loopback need a token");
        });
        Self { kernel: opened.ok().map(std::sync::Mutex::new) }
    }

    /// Returns whether a loopback connection belongs to an unknown account, or to one other than
    /// the server's and root. Connections from other machines have no account here.
    ///
    /// # Errors
    /// The connection has ended.
    pub(super) fn is_another(&self, stream: &TcpStream) -> io::Result<bool> {
        let peer = to_canonical_address(stream.peer_addr()?);
        let own = to_canonical_address(stream.local_addr()?);
        // A client may choose any address of the machine as its own.
        let is_near = peer.ip().is_loopback() || own.ip().is_loopback() || peer.ip() == own.ip();
        if !is_near {
            return Ok(false);
        }
        let account = self.find_account(peer, own);
        // If the connection was reset meanwhile, another socket may have its address now.
        stream.peer_addr()?;
        let is_trusted = |account| account == 0 || account == rustix::process::geteuid().as_raw();
        Ok(!account.is_some_and(is_trusted))
    }

    fn find_account(&self, peer: SocketAddr, own: SocketAddr) -> Option<u32> {
        let diagnostics = self.kernel.as_ref()?;
        let mut kernel = diagnostics.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        kernel.find_account(peer, own).unwrap_or_default()
    }
}

/// An IPv4 client of an IPv6 listener has an IPv4 socket.
#[cfg(target_os = "linux")]
fn to_canonical_address(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(target_os = "linux")]
mod kernel {
    use std::{
        io,
        net::{IpAddr, SocketAddr},
        os::fd::OwnedFd,
    };

    use rustix::net::{
        AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send,
        socket_with,
    };

    /// `SOCK_DIAG_BY_FAMILY`; [`REQUEST`] is the flag `NLM_F_REQUEST`.
    const BY_FAMILY: u16 = 20;
    const REQUEST: u16 = 1;
    const TCP: u8 = 6;
    /// States of an established connection: `TCP_ESTABLISHED`, `TCP_FIN_WAIT1`, `TCP_FIN_WAIT2`,
    /// `TCP_CLOSE_WAIT`, `TCP_CLOSING`. A client may end its side before it reads the reply.
    const CONNECTED_STATES: [u8; 5] = [1, 4, 5, 8, 11];
    /// Sizes in bytes of a header (`nlmsghdr`), a request (`inet_diag_req_v2`) and the fixed part
    /// of a reply (`inet_diag_msg`).
    const HEADER_BYTES: usize = 16;
    const REQUEST_BYTES: usize = 56;
    const REPLY_BYTES: usize = 72;
    /// Maximum replies to earlier requests that are skipped; normally there are none.
    const MAX_STALE: usize = 8;

    #[derive(Debug)]
    pub(super) struct SocketDiagnostics {
        socket: OwnedFd,
        sequence: u32,
    }

    impl SocketDiagnostics {
        pub(super) fn open() -> io::Result<Self> {
            let flags = SocketFlags::CLOEXEC;
            let protocol = Some(netlink::SOCK_DIAG);
            let socket = socket_with(AddressFamily::NETLINK, SocketType::DGRAM, flags, protocol)?;
            Ok(Self { socket, sequence: 0 })
        }

        /// Returns the account of the process with the socket at `from` connected to `to`; `None`
        /// if that process has closed it, although some kernels report root.
        pub(super) fn find_account(
            &mut self,
            from: SocketAddr,
            to: SocketAddr,
        ) -> io::Result<Option<u32>> {
            self.sequence = self.sequence.wrapping_add(1);
            send(&self.socket, &self.build_request(from, to), SendFlags::DONTWAIT)?;
            let mut buffer = [0; 1024];
            for _ in 0..MAX_STALE {
                // The kernel answers before `send` returns.
                let (_, length) = recv(&self.socket, &mut buffer[..], RecvFlags::DONTWAIT)?;
                let reply = buffer.get(..length).unwrap_or(&buffer);
                if read_field(reply, 8) == Some(self.sequence) {
                    return Ok(parse_account(reply, from, to));
                }
            }
            Ok(None)
        }

        fn build_request(&self, from: SocketAddr, to: SocketAddr) -> Vec<u8> {
            let family = if from.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
            let bytes = u32::try_from(HEADER_BYTES + REQUEST_BYTES).unwrap_or_default();
            let mut message = Vec::with_capacity(HEADER_BYTES + REQUEST_BYTES);
            message.extend(bytes.to_ne_bytes());
            message.extend(BY_FAMILY.to_ne_bytes());
            message.extend(REQUEST.to_ne_bytes());
            message.extend(self.sequence.to_ne_bytes());
            message.extend([0; 4]);
            message.extend([u8::try_from(family.as_raw()).unwrap_or_default(), TCP, 0, 0]);
            // Any state.
            message.extend(u32::MAX.to_ne_bytes());
            message.extend(encode_endpoints(from, to));
            // Any interface and any cookie.
            message.extend([0; 4]);
            message.extend([u8::MAX; 8]);
            message
        }
    }

    /// Encodes the two ends of a socket as an `inet_diag_sockid`.
    fn encode_endpoints(from: SocketAddr, to: SocketAddr) -> Vec<u8> {
        let mut written = Vec::with_capacity(36);
        written.extend(from.port().to_be_bytes());
        written.extend(to.port().to_be_bytes());
        for address in [from.ip(), to.ip()] {
            match address {
                IpAddr::V4(address) => {
                    written.extend(address.octets());
                    written.extend([0; 12]);
                }
                IpAddr::V6(address) => written.extend(address.octets()),
            }
        }
        written
    }

    /// Reads the account from a reply that describes the requested socket and not a listening one.
    fn parse_account(reply: &[u8], from: SocketAddr, to: SocketAddr) -> Option<u32> {
        let is_described = reply.get(4..6) == Some(&BY_FAMILY.to_ne_bytes());
        let socket = reply.get(HEADER_BYTES..HEADER_BYTES + REPLY_BYTES)?;
        let port = |at: usize| socket.get(at..)?.first_chunk().copied().map(u16::from_be_bytes);
        let is_requested = port(4) == Some(from.port())
            && port(6) == Some(to.port())
            && parse_address(socket, 8) == Some(from.ip())
            && parse_address(socket, 24) == Some(to.ip());
        let is_connected = CONNECTED_STATES.contains(socket.get(1)?);
        // The inode.
        let is_held = read_field(socket, 68)? != 0;
        read_field(socket, 64).filter(|_| is_described && is_requested && is_connected && is_held)
    }

    /// Reads an address. Some programs use an IPv6 socket for IPv4.
    fn parse_address(socket: &[u8], at: usize) -> Option<IpAddr> {
        let bytes = socket.get(at..)?;
        if u16::from(*socket.first()?) == AddressFamily::INET.as_raw() {
            return Some(IpAddr::from(*bytes.first_chunk::<4>()?));
        }
        Some(IpAddr::from(*bytes.first_chunk::<16>()?).to_canonical())
    }

    fn read_field(bytes: &[u8], at: usize) -> Option<u32> {
        let field = bytes.get(at..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*field))
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use std::{net::SocketAddr, time::Instant};

    use tokio::{
        io::{AsyncReadExt, AsyncWriteExt},
        net::{TcpListener, TcpStream},
    };

    use super::{PeerAccounts, kernel::SocketDiagnostics};

    /// Returns both ends of a connection.
    async fn connect(host: &str) -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((host, 0)).await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        (client, listener.accept().await.unwrap().0)
    }

    fn ends(client: &TcpStream) -> (SocketAddr, SocketAddr) {
        (client.local_addr().unwrap(), client.peer_addr().unwrap())
    }

    #[tokio::test]
    async fn our_own_account_is_found_over_either_version_of_the_protocol() {
        let own = rustix::process::geteuid().as_raw();
        for host in ["127.0.0.1", "127.0.0.2", "::1"] {
            let (client, served) = connect(host).await;
            let (from, to) = ends(&client);
            let found = SocketDiagnostics::open().unwrap().find_account(from, to).unwrap();
            assert_eq!(found, Some(own), "{host}");
            assert!(!PeerAccounts::open().is_another(&served).unwrap(), "{host}");
        }
        let listener = TcpListener::bind("[::]:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        for host in ["127.0.0.1", "::ffff:127.0.0.1"] {
            let _client = TcpStream::connect((host, port)).await.unwrap();
            let served = listener.accept().await.unwrap().0;
            assert!(!PeerAccounts::open().is_another(&served).unwrap(), "{host}");
        }
    }

    #[tokio::test]
    async fn a_socket_that_its_process_has_closed_belongs_to_none_although_some_kernels_say_root() {
        let (client, served) = connect("127.0.0.1").await;
        let (from, to) = ends(&client);
        drop(client);
        assert_eq!(SocketDiagnostics::open().unwrap().find_account(from, to).unwrap_or(None), None);
        assert!(PeerAccounts::open().is_another(&served).unwrap_or(true));
    }

    #[tokio::test]
    async fn the_account_is_known_after_a_client_has_ended_its_side() {
        let (mut client, mut served) = connect("127.0.0.1").await;
        client.shutdown().await.unwrap();
        assert_eq!(served.read(&mut [0]).await.unwrap(), 0);
        assert!(!PeerAccounts::open().is_another(&served).unwrap());
    }

    #[tokio::test]
    async fn a_socket_that_listens_at_the_address_is_not_taken_for_the_one_that_is_gone() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let from = listener.local_addr().unwrap();
        let to = "127.0.0.1:9".parse().unwrap();
        assert_eq!(SocketDiagnostics::open().unwrap().find_account(from, to).unwrap_or(None), None);
    }

    #[tokio::test]
    async fn a_system_that_does_not_say_has_every_account_count_as_another() {
        let (_client, served) = connect("127.0.0.1").await;
        assert!(PeerAccounts { kernel: None }.is_another(&served).unwrap());
    }

    /// `cargo test --lib cost_of -- --ignored --nocapture` prints microseconds by number of
    /// sockets.
    #[tokio::test]
    #[ignore = "a measurement"]
    #[expect(clippy::print_stderr, reason = "`--nocapture` shows the measurement")]
    async fn cost_of_a_lookup_does_not_grow_with_the_number_of_sockets() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let accounts = PeerAccounts::open();
        let mut open = Vec::new();
        for count in [1, 100, 1_000, 8_000] {
            while open.len() < count {
                let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
                open.push((client, listener.accept().await.unwrap().0));
            }
            let began = Instant::now();
            for (_, served) in open.iter().cycle().take(10_000) {
                assert!(!accounts.is_another(served).unwrap());
            }
            let micros = began.elapsed().as_secs_f64() * 1e6 / 10_000.0;
            eprintln!("{count} connections: {micros:.2} microseconds");
        }
    }
}
