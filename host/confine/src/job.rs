//! Job objects of Windows: all processes of a job are killed together, and each process can have limits of memory and
//! CPU time.
//!
//! Source of the facts: "Job Objects" in Microsoft's documentation of Win32.

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle, RawHandle};

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION,
    JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE, JOB_OBJECT_LIMIT_PROCESS_MEMORY,
    JOB_OBJECT_LIMIT_PROCESS_TIME, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectExtendedLimitInformation, SetInformationJobObject,
};
/// The flag for a process that gets a console of its own, which nobody sees: no window opens where the host has no
/// console, and Ctrl-C in the console of the host is not sent to the process.
pub use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

use crate::resource_limits::ResourceLimits;

/// The number of ticks in a second. Windows counts CPU time in ticks of 100 nanoseconds.
const TICKS_PER_SECOND: u64 = 10_000_000;

/// A job. Processes that are added to it, and those that they start later, are killed when this value is dropped or
/// when this process ends, however it ends.
#[derive(Debug)]
pub struct Job(OwnedHandle);

impl Job {
    /// A job without processes. Each limit applies to every process of the job separately, not to their sum. The limit
    /// of CPU time bounds user time only. The limit of file sizes is ignored.
    ///
    /// # Errors
    ///
    /// The system cannot make a job.
    #[expect(unsafe_code, reason = "calls of Win32")]
    pub fn new(limits: &ResourceLimits) -> io::Result<Self> {
        let mut terms = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut terms.BasicLimitInformation;
        // A process that crashes must not wait for somebody to close a window.
        basic.LimitFlags =
            JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
        if let Some(seconds) = limits.cpu_seconds {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
            basic.PerProcessUserTimeLimit =
                i64::try_from(seconds.saturating_mul(TICKS_PER_SECOND)).unwrap_or(i64::MAX);
        }
        // Windows bounds memory that is committed. Address space that is only reserved costs nothing there.
        if let Some(bytes) = limits.memory.into_iter().chain(limits.address_space).min() {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
            terms.ProcessMemoryLimit = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        // SAFETY: both pointers may be null. The handle is then not inherited, and the job has no name.
        let handle = unsafe { CreateJobObjectW(std::ptr::null(), std::ptr::null()) };
        if handle.is_null() {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the handle was made above, and nothing else owns it.
        let job = Self(unsafe { OwnedHandle::from_raw_handle(handle) });
        let size =
            u32::try_from(size_of_val(&terms)).expect("the size of the structure fits in 32 bits");
        // SAFETY: the pointer and the size are those of the structure that this kind of information demands.
        let done = unsafe {
            SetInformationJobObject(
                job.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                (&raw const terms).cast::<c_void>(),
                size,
            )
        };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(job) }
    }

    /// A job with one process, which was just started. If the process has already ended, the job is empty.
    ///
    /// # Errors
    ///
    /// The system cannot make the job, add the process or report the state of the process.
    pub fn of(process: &mut tokio::process::Child) -> io::Result<Self> {
        let job = Self::new(&ResourceLimits::default())?;
        if let Some(handle) = process.raw_handle()
            && let Err(error) = job.add(handle)
            && process.try_wait()?.is_none()
        {
            return Err(error);
        }
        Ok(job)
    }

    /// Adds a running process.
    ///
    /// # Errors
    ///
    /// The handle does not belong to a running process, or the process is in a job that forbids further jobs.
    #[expect(unsafe_code, reason = "calls of Win32")]
    pub fn add(&self, process: RawHandle) -> io::Result<()> {
        // SAFETY: the job's handle is open. The system checks the handle of the process.
        let done = unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process) };
        if done == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    /// Adds this process. The job then stays as long as this process.
    ///
    /// # Errors
    ///
    /// As [`Job::add`].
    #[expect(unsafe_code, reason = "calls of Win32")]
    pub fn enter(self) -> io::Result<()> {
        // SAFETY: the function has no conditions, and returns a constant that stands for this process.
        let this = unsafe { GetCurrentProcess() };
        self.add(this)?;
        // Dropping the last handle would kill this process.
        std::mem::forget(self);
        Ok(())
    }
}
