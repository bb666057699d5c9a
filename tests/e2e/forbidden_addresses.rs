//! Without `--allow-private` nothing of this machine or its network is dialled, however it is written.

use std::net::{Ipv4Addr, Ipv6Addr};

use shared::{FailureKind, FailurePhase, Plan, RunEvent};
use tests::hostile::{Layer, Step, TcpServer};
use tests::ports;
use tests::probe::{Outcome, run};
use tests::server::Server;
use tokio::net::{TcpListener, UdpSocket};

/// A host as a URL may hold it.
const HOSTS: [&str; 16] = [
    "127.0.0.1",
    "localhost",
    "[::1]",
    "0x7f.1",
    "2130706433",
    "0177.0.0.1",
    "127.1",
    "0.0.0.0",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "[64:ff9b::7f00:1]",
    "169.254.169.254",
    "10.0.0.1",
    "100.64.0.1",
    "192.168.1.1",
    "[fe80::1]",
];

/// Listens for TCP and UDP on both loopback addresses of one port, and tells whether anything came.
struct Trap {
    tcp: Vec<TcpListener>,
    udp: Vec<UdpSocket>,
    port: u16,
}

impl Trap {
    async fn set() -> Self {
        let port = ports::free();
        let mut tcp = vec![TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap()];
        let mut udp = vec![UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).await.unwrap()];
        if ports::has_ipv6() {
            tcp.push(TcpListener::bind((Ipv6Addr::LOCALHOST, port)).await.unwrap());
            udp.push(UdpSocket::bind((Ipv6Addr::LOCALHOST, port)).await.unwrap());
        }
        Self { tcp, udp, port }
    }

    /// The kernel has queued everything that was sent to loopback before the probe's process ended.
    async fn assert_untouched(self) {
        tokio::task::yield_now().await;
        for listener in &self.tcp {
            let listener = listener.accept();
            let accepted = tokio::time::timeout(std::time::Duration::from_millis(50), listener).await;
            assert!(accepted.is_err(), "a TCP connection was made: {accepted:?}");
        }
        for socket in &self.udp {
            let received = socket.try_recv(&mut [0; 2048]);
            assert!(received.is_err(), "a datagram came: {received:?}");
        }
    }
}

/// Exit status 3, and either the words that name the option or a document in which every exchange was refused.
fn assert_refused(what: &str, outcome: &Outcome) {
    assert_eq!(outcome.code, 3, "{what}: {}{}", outcome.printed, outcome.said);
    let Some(document) = &outcome.document else {
        assert!(
            outcome.said.contains("--allow-private"),
            "{what}: {}",
            outcome.said
        );
        return;
    };
    for sample in document.arms.iter().flat_map(|arm| &arm.samples) {
        let failure = sample.failure.as_ref().unwrap();
        assert_eq!(failure.kind, FailureKind::AddressForbidden, "{what}: {failure:?}");
        assert!(
            matches!(failure.phase, FailurePhase::Start | FailurePhase::Dns),
            "{what}: {failure:?}"
        );
    }
}

#[tokio::test]
async fn the_terminal_refuses_without_the_option() {
    let trap = Trap::set().await;
    for host in HOSTS {
        let url = format!("https://{host}:{}/", trap.port);
        let outcome = run(&["probe", &url, "--json", "-n", "1", "--max-time", "1"]).await;
        assert_refused(host, &outcome);
    }
    trap.assert_untouched().await;
}

#[tokio::test]
async fn an_address_given_with_resolve_is_refused_too() {
    let trap = Trap::set().await;
    for address in ["127.0.0.1", "[::1]", "[::ffff:127.0.0.1]"] {
        let url = format!("https://example.org:{}/", trap.port);
        let resolve = format!("example.org:{}:{address}", trap.port);
        let outcome = run(&["probe", &url, "--json", "-n", "1", "--resolve", &resolve]).await;
        assert_refused(address, &outcome);
    }
    trap.assert_untouched().await;
}

#[tokio::test]
async fn a_plain_http_url_is_refused_too() {
    let trap = Trap::set().await;
    let url = format!("http://127.0.0.1:{}/", trap.port);
    assert_refused("http", &run(&["probe", &url, "--json", "-n", "1"]).await);
    trap.assert_untouched().await;
}

#[tokio::test]
async fn a_server_refuses_for_its_users() {
    let server = Server::start_with(&[]);
    let client = server.client();
    let trap = TcpServer::start(Layer::Plain, vec![Step::Stall]).await;
    for host in HOSTS {
        let mut plan = Plan::new(format!("https://{host}:{}/", trap.address.port()));
        plan.samples = 1;
        let answer = client.send_json(http::Method::POST, "/api/v1/runs", &plan).await;
        if !answer.status.is_success() {
            assert_eq!(answer.problem()["field"], "url", "{host}");
            continue;
        }
        let run = answer.read::<shared::RunAccepted>().id;
        let events = client.events(&run).await.rest().await;
        match events.into_iter().last() {
            Some((_, RunEvent::Failed { field, message })) => {
                assert_eq!(field.as_deref(), Some("url"), "{host}: {message}");
            }
            Some((_, RunEvent::Finished { document })) => {
                let mut samples = document.arms.iter().flat_map(|arm| &arm.samples);
                assert!(
                    samples.all(|sample| {
                        let failure = sample.failure.as_ref();
                        failure.is_some_and(|failure| failure.kind == FailureKind::AddressForbidden)
                    }),
                    "{host}"
                );
            }
            other => panic!("{host}: the run ended with {other:?}"),
        }
    }
    assert_eq!(trap.connections(), 0, "something was dialled");
}
