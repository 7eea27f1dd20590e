//! The program on a terminal of its own. `setsid` gives it one; where that is missing, the tests say so and skip.

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

pub(crate) struct Terminal {
    /// The side of the person.
    master: File,
    /// The side of the program.
    peer: File,
    pieces: mpsc::Receiver<Vec<u8>>,
    pub(crate) shown: String,
    pub(crate) child: Child,
}

impl Terminal {
    /// Starts the program at home in `folder` on a terminal of 40 columns; `None` where that cannot be done.
    pub(crate) fn start(folder: &Path, args: &[&str], env: &[(&str, &str)]) -> Option<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY;
        let master = openpt(flags).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let peer = File::from(ioctl_tiocgptpeer(&master, flags).unwrap());
        let size = Winsize {
            ws_row: 24,
            ws_col: 40,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&peer, size).unwrap();
        let side = || Stdio::from(peer.try_clone().unwrap());
        let child = Command::new("setsid")
            .args(["-c", "env"])
            .args(env.iter().map(|(name, value)| format!("{name}={value}")))
            .arg(env!("CARGO_BIN_EXE_claw"))
            .args(args)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", folder)
            .env("TERM", "xterm")
            .current_dir(folder)
            .stdin(side())
            .stdout(side())
            .stderr(side())
            .spawn();
        let Ok(child) = child else {
            eprintln!("skipped: there is no `setsid` to give the program a terminal");
            return None;
        };
        let (send, pieces) = mpsc::channel();
        let master = File::from(master);
        let mut reads = master.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Ok(length @ 1..) = reads.read(&mut piece) {
                if send.send(piece[..length].to_vec()).is_err() {
                    break;
                }
            }
        });
        Some(Self {
            master,
            peer,
            pieces,
            shown: String::new(),
            child,
        })
    }

    pub(crate) fn type_in(&mut self, text: &str) {
        self.master.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until the terminal has shown this.
    pub(crate) fn wait_for(&mut self, text: &str) {
        let until = Instant::now() + Duration::from_secs(30);
        while !self.shown.contains(text) {
            let left = until.saturating_duration_since(Instant::now());
            let Ok(piece) = self.pieces.recv_timeout(left) else {
                panic!("no {text:?} in {:?}", self.shown);
            };
            self.shown.push_str(&String::from_utf8_lossy(&piece));
        }
    }

    pub(crate) fn is_cooked(&self) -> bool {
        let modes = tcgetattr(&self.peer).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG)
    }

    /// Waits for the end of the program, and returns the code it ended with.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let until = Instant::now() + Duration::from_secs(60);
        while Instant::now() < until {
            if let Some(end) = self.child.try_wait().unwrap() {
                return end.code();
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.child.kill().unwrap();
        panic!("it goes on, after {:?}", self.shown);
    }
}
