//! The command line: options, the terminal's probe and its table, the server's start.

pub mod args;
pub mod probe;
pub mod serve;
pub mod table;
