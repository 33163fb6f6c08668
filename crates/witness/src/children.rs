//! Whether a process has children, whose work its own counters do not include.

/// Whether a process has children; `None` if the OS does not list them. A child's reads are added
/// to its parent's only when the parent waits for it.
pub(crate) fn has_children(pid: u32) -> Option<bool> {
    let mut tasks = std::fs::read_dir(format!("/proc/{pid}/task")).ok()?;
    tasks.try_fold(false, |has, task| {
        let task = task.ok()?.path();
        match std::fs::read(task.join("children")) {
            Ok(children) => Some(has || !children.is_empty()),
            // A thread that has just ended passed its children to another.
            Err(_) if !task.exists() => Some(has),
            Err(_) => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_that_live_are_seen() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let known = has_children(std::process::id());
        let of_child = has_children(child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        // Some kernels do not list children.
        assert!(matches!((known, of_child), (Some(true), Some(false)) | (None, None)));
        assert_eq!(has_children(child.id()), None);
    }
}
