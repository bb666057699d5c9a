//! A child process that ends with its owner, and the lines it prints.

use std::io::{BufRead as _, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A running program. Killed and reaped when dropped, by its own process id.
pub struct Program {
    name: String,
    child: Child,
    lines: Receiver<String>,
    said: Arc<Mutex<String>>,
}

impl Program {
    /// Starts `command` with its output read.
    ///
    /// # Panics
    /// When it cannot be started.
    pub fn start(mut command: Command) -> Self {
        let name = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let (sender, lines) = channel();
        let said = Arc::new(Mutex::new(String::new()));
        read_lines(child.stdout.take(), sender.clone(), Arc::clone(&said));
        read_lines(child.stderr.take(), sender, Arc::clone(&said));
        Self {
            name,
            child,
            lines,
            said,
        }
    }

    /// Waits for a line, on either output, for which `wanted` gives something.
    ///
    /// # Panics
    /// When the program ends, or says nothing of the kind for 30 seconds; with all it said.
    pub fn wait_for<T>(&mut self, mut wanted: impl FnMut(&str) -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    if let Some(found) = wanted(&line) {
                        return found;
                    }
                }
                Err(RecvTimeoutError::Timeout) => panic!("{} is not ready. {}", self.name, self.said()),
                Err(RecvTimeoutError::Disconnected) => panic!("{} ended. {}", self.name, self.said()),
            }
        }
    }

    /// Everything the program has printed so far, on both outputs.
    ///
    /// # Panics
    /// When a reading thread did.
    pub fn said(&self) -> String {
        self.said.lock().expect("the reader did not panic").clone()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // An error means that it has ended already.
        if self.child.kill().is_ok() {
            let reaped = self.child.wait();
            debug_assert!(reaped.is_ok(), "a killed child can be waited for");
        }
        if thread::panicking() {
            eprintln!("--- {} said:\n{}---", self.name, self.said());
        }
    }
}

fn read_lines(source: Option<impl Read + Send + 'static>, sender: Sender<String>, said: Arc<Mutex<String>>) {
    let Some(source) = source else {
        return;
    };
    thread::spawn(move || {
        for line in BufReader::new(source).lines().map_while(Result::ok) {
            if let Ok(mut said) = said.lock() {
                said.push_str(&line);
                said.push('\n');
            }
            // Nobody waits for lines once the program is ready.
            let _nobody_waits = sender.send(line);
        }
    });
}
