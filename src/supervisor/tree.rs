//! Everyone below a process, for machines whose kernel gives us no pid namespace to end them all with.

use std::{collections::HashMap, fs};

use crate::identity::stat;

/// Kills everyone below `root` but one and those below that one, and answers how many there were. Each is stopped before any is killed,
/// so that nobody forks away while we walk.
pub fn kill_below(root: i32, spared: Option<i32>) -> usize {
    const ROUNDS_MAX: usize = 16;
    let mut found = Vec::new();
    for _ in 0..ROUNDS_MAX {
        let now = below_but(root, spared);
        let fresh: Vec<i32> = now.iter().copied().filter(|pid| !found.contains(pid)).collect();
        if fresh.is_empty() {
            break;
        }
        signal(&fresh, libc::SIGSTOP);
        found.extend(fresh);
    }
    signal(&found, libc::SIGKILL);
    found.len()
}

pub fn signal_below(root: i32, number: i32) {
    signal(&below(root), number);
}

fn signal(pids: &[i32], number: i32) {
    for pid in pids {
        // SAFETY: a plain system call. The pids were below our own init a moment ago, and init, which
        // reaps them, is the process that calls this: none can have been reused.
        unsafe { libc::kill(*pid, number) };
    }
}

/// Zombies are in it too: the first thread of a process may be one while the others still run.
pub fn below(root: i32) -> Vec<i32> {
    below_but(root, None)
}

fn below_but(root: i32, spared: Option<i32>) -> Vec<i32> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for pid in everyone().filter(|pid| Some(*pid) != spared) {
        if let Ok(it) = stat(pid) {
            children.entry(it.parent).or_default().push(pid);
        }
    }
    let mut found: Vec<i32> = Vec::new();
    let mut next = vec![root];
    while let Some(pid) = next.pop() {
        let own = children.remove(&pid).unwrap_or_default();
        found.extend(&own);
        next.extend(own);
    }
    found
}

pub fn everyone() -> impl Iterator<Item = i32> {
    let names = fs::read_dir("/proc").into_iter().flatten().flatten();
    names.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

#[cfg(test)]
mod tests {
    use std::{
        io::{BufRead, BufReader},
        process::{Command, Stdio},
    };

    use super::*;

    #[test]
    fn everyone_below_is_killed_but_the_one_who_is_spared_and_those_below_it() {
        let line = "sleep 1000 & sh -c 'sleep 1000 & echo $$; wait' & wait";
        let mut root = Command::new("sh").args(["-c", line]).stdout(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        BufReader::new(root.stdout.take().unwrap()).read_line(&mut said).unwrap();
        let (pid, spared) = (root.id().cast_signed(), said.trim().parse().unwrap());
        let is_alive = |pid: i32| stat(pid).is_ok_and(|it| it.state != b'Z');
        assert!(kill_below(pid, Some(spared)) == 1 && is_alive(spared) && below(spared).into_iter().all(is_alive));
        assert!(kill_below(pid, None) >= 2);
        root.wait().unwrap();
    }
}
