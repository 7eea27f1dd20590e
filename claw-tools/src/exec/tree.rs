//! Every process that a command started, to end them all.
//!
//! Killing the process group is not enough: `setsid` leaves it, and a double fork leaves the family too. So a process belongs to
//! the command when any of these says so: it carries the marker in its environment, which every descendant inherits; its parent
//! belongs; it was seen belonging while the command ran; it is in the group or session of the shell. A program that clears its
//! environment and detaches within one sample gets away; only a process namespace would hold it.

use std::collections::HashMap;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long processes have to end by themselves after being asked.
const GRACE: Duration = Duration::from_millis(300);
/// How long they are then killed again and again, as new ones may be forked meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);

/// Returns the name of a variable that no other process carries.
pub(super) fn marker() -> String {
    let random = || RandomState::new().build_hasher().finish();
    // A name of its own each: commands may be nested, and the inner one must not hide the outer one's mark.
    format!("CLAW_EXEC_{:016X}{:016X}", random(), random())
}

/// The processes of one command. Dropping it ends them.
pub(super) struct Tree {
    leader: Option<Pid>,
    marker: String,
    /// Start times by process id, as an id alone may come to mean another process.
    seen: HashMap<i32, u64>,
    has_ended: bool,
}

impl Tree {
    pub(super) fn new(leader: Option<u32>, marker: String) -> Self {
        let leader = leader.and_then(|id| Pid::from_raw(id.cast_signed()));
        let mut seen = HashMap::new();
        if let Some(process) = leader.and_then(|leader| Process::read(leader.as_raw_pid())) {
            seen.insert(process.id, process.started);
        }
        Self {
            leader,
            marker,
            seen,
            has_ended: false,
        }
    }

    /// Says that the shell has been waited for: from now on its id may be another's. Who is left in its group is
    /// remembered before that can be, unless the id is taken already.
    pub(super) fn leader_is_gone(&mut self) {
        let is_free = |leader: Pid| Process::read(leader.as_raw_pid()).is_none();
        if self.leader.is_some_and(is_free) {
            self.members();
        }
        self.leader = None;
    }

    /// Remembers the children, and theirs, of what is already known.
    pub(super) fn sample(&mut self) {
        let mut todo: Vec<i32> = self.seen.keys().copied().collect();
        while let Some(id) = todo.pop() {
            let Ok(tasks) = fs::read_dir(format!("/proc/{id}/task")) else {
                continue;
            };
            for task in tasks.filter_map(Result::ok) {
                let children = fs::read_to_string(task.path().join("children")).unwrap_or_default();
                for child in children.split_whitespace().filter_map(|id| id.parse().ok()) {
                    if let Some(process) = Process::read(child)
                        && self.seen.insert(child, process.started) != Some(process.started)
                    {
                        todo.push(child);
                    }
                }
            }
        }
        self.seen.retain(|id, started| {
            Process::read(*id).is_some_and(|process| process.started == *started)
        });
    }

    /// Ends every process, kindly first, and returns how many there were.
    pub(super) fn end(mut self) -> usize {
        self.end_all()
    }

    fn end_all(&mut self) -> usize {
        self.has_ended = true;
        let mut ended = HashMap::new();
        let started = Instant::now();
        let mut asked = HashMap::new();
        loop {
            let members = self.members();
            if members.is_empty() || started.elapsed() > GRACE + PATIENCE {
                return ended.len();
            }
            let is_over = started.elapsed() > GRACE;
            if is_over && let Some(leader) = self.leader {
                // At once for all in it, so that none forks in between. What is not in it is dealt with below.
                let _ = kill_process_group(leader, Signal::KILL);
            }
            for process in members {
                let is_new = asked.insert(process.id, process.started) != Some(process.started);
                if is_over {
                    process.signal(Signal::KILL);
                } else if is_new {
                    process.signal(Signal::TERM);
                    // One that is stopped cannot hear it.
                    process.signal(Signal::CONT);
                }
                ended.insert(process.id, process.started);
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Returns the live processes that belong to the command.
    fn members(&mut self) -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let ids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
        let own = std::process::id().cast_signed();
        let mut others: Vec<Process> = ids
            .filter(|id| *id != own)
            .filter_map(Process::read)
            .collect();
        let mut members: Vec<Process> = others
            .extract_if(.., |process| {
                self.seen.get(&process.id) == Some(&process.started)
                    || self.leader.is_some_and(|leader| {
                        [process.group, process.session].contains(&leader.as_raw_pid())
                    })
                    || process.carries(&self.marker)
            })
            .collect();
        let mut at = 0;
        while at < members.len() {
            let parent = members[at].id;
            members.extend(others.extract_if(.., |process| process.parent == parent));
            at += 1;
        }
        for process in &members {
            self.seen.insert(process.id, process.started);
        }
        // A dead one whose parent has not noticed cannot be killed again.
        members.retain(|process| !process.is_dead);
        members
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        // The call was dropped half-way. Only this short wait lets nothing survive it.
        if !self.has_ended {
            self.end_all();
        }
    }
}

/// One line of `/proc`.
#[derive(Debug)]
struct Process {
    id: i32,
    parent: i32,
    group: i32,
    session: i32,
    /// In clock ticks since the system started.
    started: u64,
    is_dead: bool,
}

impl Process {
    fn read(id: i32) -> Option<Self> {
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        Self::parse(id, &String::from_utf8_lossy(&stat))
    }

    /// Reads what follows the name, which may hold anything, parentheses too.
    fn parse(id: i32, stat: &str) -> Option<Self> {
        let (_, rest) = stat.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        Some(Self {
            id,
            is_dead: matches!(*fields.first()?, "Z" | "X" | "x"),
            parent: fields.get(1)?.parse().ok()?,
            group: fields.get(2)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            started: fields.get(19)?.parse().ok()?,
        })
    }

    fn carries(&self, marker: &str) -> bool {
        let wanted = format!("{marker}=1");
        fs::read(format!("/proc/{}/environ", self.id)).is_ok_and(|environ| {
            environ
                .split(|byte| *byte == 0)
                .any(|variable| variable == wanted.as_bytes())
        })
    }

    /// Sends a signal to this very process, not to another that got its id meanwhile.
    #[cfg(target_os = "linux")]
    fn signal(&self, signal: Signal) {
        use rustix::process::{PidfdFlags, pidfd_open, pidfd_send_signal};
        let Some(pid) = Pid::from_raw(self.id) else {
            return;
        };
        // An error says that it is gone already.
        if let Ok(handle) = pidfd_open(pid, PidfdFlags::empty())
            && Self::read(self.id).is_some_and(|now| now.started == self.started)
        {
            let _ = pidfd_send_signal(handle, signal);
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn signal(&self, signal: Signal) {
        if let Some(pid) = Pid::from_raw(self.id) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_does_not_shift_the_fields() {
        let stat = "7 (a) R 1 ) S 3 4 5 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 99 0";
        let process = Process::parse(7, stat).unwrap();
        assert_eq!(
            (
                process.parent,
                process.group,
                process.session,
                process.started
            ),
            (3, 4, 5, 99)
        );
        assert!(!process.is_dead);
        assert!(Process::parse(7, "7 (a").is_none());
        assert!(Process::parse(7, "7 (a) S 1").is_none());
    }

    #[test]
    fn markers_differ() {
        assert_ne!(marker(), marker());
    }
}
