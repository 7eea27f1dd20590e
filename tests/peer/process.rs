//! A peer's process: started, waited for, asked, ended with the test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::Value;

/// Returns the path of something that is installed below the build folder.
pub(crate) fn installed(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("target")
        .join(path)
}

/// The key that a peer wants, where it wants one.
pub(crate) const KEY: &str = "key-1234567890";

/// A peer that listens on loopback.
pub(crate) struct Peer {
    child: Child,
    /// Host and port.
    host: String,
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Peer {
    /// Starts a peer on a port that it chooses itself, and waits for the line that names its address behind `mark`.
    pub(crate) fn start(command: &mut Command, mark: &str) -> Self {
        let child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut peer = Self {
            child,
            host: String::new(),
        };
        // One of the two streams has the line; both are read to their end, or the peer would wait for a reader.
        let (tell, lines) = std::sync::mpsc::channel();
        let streams: [Box<dyn Read + Send>; 2] = [
            Box::new(peer.child.stdout.take().unwrap()),
            Box::new(peer.child.stderr.take().unwrap()),
        ];
        for stream in streams {
            let tell = tell.clone();
            thread::spawn(move || {
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let _ = tell.send(line);
                }
            });
        }
        drop(tell);
        let mut said = String::new();
        for line in lines {
            if let Some((_, rest)) = line.split_once(mark) {
                let host = rest.split_whitespace().next().unwrap();
                host.trim_start_matches("http://")
                    .clone_into(&mut peer.host);
                return peer;
            }
            said.push_str(&line);
            said.push('\n');
        }
        panic!("the peer ended before it listened:\n{said}");
    }

    /// Returns its address without a path.
    pub(crate) fn root(&self) -> String {
        format!("http://{}", self.host)
    }

    /// Asks the peer about itself; returns the JSON it answers with.
    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> Value {
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let mut stream = TcpStream::connect(&self.host).unwrap();
        write!(
            stream,
            "{method} {path} HTTP/1.0\r\nhost: {}\r\ncontent-type: application/json\r\nauthorization: Bearer {KEY}\r\ncontent-length: {}\r\n\r\n{body}",
            self.host,
            body.len()
        )
        .unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap();
        assert!(status.starts_with('2'), "{method} {path}: {answer}");
        serde_json::from_str(body).unwrap_or(Value::Null)
    }
}
