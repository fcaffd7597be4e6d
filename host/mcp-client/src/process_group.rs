//! The processes of a child, which end together: a process group on Unix, a job on Windows.

use std::io;

#[cfg(target_os = "linux")]
use crate::keeper;

/// The processes of a child. Dropping this value ends them as [`Self::end_all`] does.
pub(crate) struct Group {
    /// `None`: the group has ended.
    #[cfg(unix)]
    id: Option<u32>,
    /// Whether its first process is a keeper: see [`keeper`].
    #[cfg(target_os = "linux")]
    is_kept: bool,
    /// Holds all processes that the child started. `None`: they were killed.
    #[cfg(windows)]
    job: Option<portcullis_confine::Job>,
}

impl Group {
    /// The group of a child that was just started. On Unix, the child is the first process of a process group.
    /// `is_kept`: whether the child is a keeper.
    #[cfg_attr(unix, expect(clippy::unnecessary_wraps, reason = "as on Windows"))]
    pub(crate) fn of(process: &mut tokio::process::Child, is_kept: bool) -> io::Result<Self> {
        #[cfg(not(target_os = "linux"))]
        let _only_linux_has_keepers = is_kept;
        Ok(Self {
            #[cfg(unix)]
            id: process.id(),
            #[cfg(target_os = "linux")]
            is_kept,
            #[cfg(windows)]
            job: Some(portcullis_confine::Job::of(process)?),
        })
    }

    #[cfg(unix)]
    fn id(&self) -> Option<rustix::process::Pid> {
        rustix::process::Pid::from_raw(self.id?.cast_signed())
    }

    #[cfg(unix)]
    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(group) = self.id() {
            // The group may have no processes any more.
            let _gone = rustix::process::kill_process_group(group, signal);
        }
    }

    /// Sends `SIGTERM`. Windows has no signals: nothing is sent there.
    pub(crate) fn ask_to_end(&self) {
        #[cfg(unix)]
        self.signal(rustix::process::Signal::TERM);
    }

    /// Tells the keeper to end all processes. Without a keeper, kills the group.
    pub(crate) fn end_all(&mut self) {
        #[cfg(target_os = "linux")]
        if self.is_kept {
            if let Some(keeper) = self.id() {
                let _gone = rustix::process::kill_process(keeper, keeper::END_ALL);
            }
            return;
        }
        self.kill();
    }

    pub(crate) fn kill(&mut self) {
        #[cfg(unix)]
        {
            self.signal(rustix::process::Signal::KILL);
            // The system may reuse the id of the group.
            self.id = None;
        }
        #[cfg(windows)]
        {
            self.job = None;
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.end_all();
    }
}
