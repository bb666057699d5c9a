//! Sockets and the clock: the only place that touches the operating system's time and descriptors.

pub mod clock;
pub(crate) mod dial;
pub(crate) mod h3_streams;
pub(crate) mod tap;
pub(crate) mod tcp;
pub(crate) mod tcp_info;
pub(crate) mod udp;
