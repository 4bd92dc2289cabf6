//! Windows gives no fence for files or the network that builds survive, so every fenced mode asks or
//! refuses here. What it gives is a job: a group of processes that ends as a whole and cannot grow
//! without bound.

use super::plan::{Plan, Tier};
use super::process::{self, Run, Running};
use std::ffi::OsString;
use std::io;
use std::mem::{size_of, zeroed};
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};
use std::os::windows::process::CommandExt;
use std::process::{Child, Command};
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_ACTIVE_PROCESS,
    JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_UILIMIT_DESKTOP, JOB_OBJECT_UILIMIT_DISPLAYSETTINGS, JOB_OBJECT_UILIMIT_EXITWINDOWS,
    JOB_OBJECT_UILIMIT_GLOBALATOMS, JOB_OBJECT_UILIMIT_HANDLES, JOB_OBJECT_UILIMIT_READCLIPBOARD,
    JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS, JOB_OBJECT_UILIMIT_WRITECLIPBOARD,
    JOBOBJECT_BASIC_UI_RESTRICTIONS, JOBOBJECT_EXTENDED_LIMIT_INFORMATION,
    JobObjectBasicUIRestrictions, JobObjectExtendedLimitInformation, SetInformationJobObject,
};
use windows_sys::Win32::System::Threading::{
    CREATE_NO_WINDOW, CREATE_SUSPENDED, OpenThread, ResumeThread, THREAD_SUSPEND_RESUME,
};

/// Why no mode but `danger-full-access` can be held.
const NO_FENCE: &str = "this program has no file or network fence on Windows";
/// The most processes that a command may have at once.
const MOST_PROCESSES: u32 = 512;
/// What a command may not do to the person's desktop.
const DESKTOP: u32 = JOB_OBJECT_UILIMIT_DESKTOP
    | JOB_OBJECT_UILIMIT_DISPLAYSETTINGS
    | JOB_OBJECT_UILIMIT_EXITWINDOWS
    | JOB_OBJECT_UILIMIT_GLOBALATOMS
    | JOB_OBJECT_UILIMIT_HANDLES
    | JOB_OBJECT_UILIMIT_READCLIPBOARD
    | JOB_OBJECT_UILIMIT_SYSTEMPARAMETERS
    | JOB_OBJECT_UILIMIT_WRITECLIPBOARD;

/// Nothing to remember: there is no helper.
pub(super) fn remember_program() {}

/// Always an error, so that every fenced mode asks or refuses.
pub(super) fn tier(_namespaces: bool) -> Result<(Tier, Option<String>), String> {
    Err(NO_FENCE.to_owned())
}

/// The one mechanism of Windows. It ends and counts processes; it fences neither files nor network.
pub(super) fn layers() -> Result<Vec<super::Layer>, String> {
    Ok(vec![super::Layer {
        name: "job object (ends and counts processes only)",
        works: Job::new().is_ok(),
        version: None,
    }])
}

/// Starts a command in a job but without a fence; the caller has made sure that none is wanted.
pub(super) fn start(plan: Plan, run: &Run) -> Result<Running, String> {
    if plan.tier == Tier::Open {
        process::start_in_job(run)
    } else {
        Err(NO_FENCE.to_owned())
    }
}

/// Always an error.
pub(super) fn offline(_ports: &[u16]) -> Result<(), String> {
    Err("this program has no network fence on Windows".to_owned())
}

/// Nothing: closing its job ends a command with all that it started.
pub(super) fn kill_tree(_pid: u32) {}

/// There is no helper on Windows.
pub(super) fn helper(_args: Vec<OsString>) -> ! {
    eprintln!("__sandbox is not used on Windows");
    std::process::exit(2)
}

/// A group of processes. Closing it ends all of them; none can leave it.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

impl Job {
    /// An empty job with its limits.
    fn new() -> io::Result<Self> {
        // SAFETY: null is allowed for both, and nobody else owns the handle that comes back. The
        // structures are plain numbers, outlive the calls, and have the sizes that are told.
        unsafe {
            let handle = CreateJobObjectW(std::ptr::null(), std::ptr::null());
            if handle.is_null() {
                return Err(io::Error::last_os_error());
            }
            let job = Self(OwnedHandle::from_raw_handle(handle));
            let mut limits: JOBOBJECT_EXTENDED_LIMIT_INFORMATION = zeroed();
            limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE
                | JOB_OBJECT_LIMIT_ACTIVE_PROCESS
                | JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION;
            limits.BasicLimitInformation.ActiveProcessLimit = MOST_PROCESSES;
            job.set(JobObjectExtendedLimitInformation, &limits)?;
            let desktop = JOBOBJECT_BASIC_UI_RESTRICTIONS {
                UIRestrictionsClass: DESKTOP,
            };
            job.set(JobObjectBasicUIRestrictions, &desktop)?;
            Ok(job)
        }
    }

    /// # Safety
    /// `value` must be the structure that belongs to `class`.
    unsafe fn set<T>(&self, class: i32, value: &T) -> io::Result<()> {
        let size = u32::try_from(size_of::<T>()).unwrap_or(0);
        // SAFETY: the caller's promise; the value outlives the call.
        let done = unsafe {
            SetInformationJobObject(self.handle(), class, std::ptr::from_ref(value).cast(), size)
        };
        succeeded(done)
    }

    fn handle(&self) -> HANDLE {
        self.0.as_raw_handle()
    }

    /// Starts a command inside a job of its own: it does nothing before it is in it.
    pub fn start(command: &mut Command) -> io::Result<(Child, Self)> {
        let job = Self::new()?;
        let mut child = command
            .creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW)
            .spawn()?;
        // SAFETY: both handles are open.
        let inside =
            succeeded(unsafe { AssignProcessToJobObject(job.handle(), child.as_raw_handle()) })
                .and_then(|()| resume(child.id()));
        if let Err(error) = inside {
            let _ = child.kill();
            let _ = child.wait();
            return Err(error);
        }
        Ok((child, job))
    }
}

fn succeeded(value: i32) -> io::Result<()> {
    if value == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// Lets the only thread of a new process go on. The standard library keeps no handle to it.
fn resume(process: u32) -> io::Result<()> {
    // SAFETY: the entry is plain numbers, knows its size, and outlives the calls; every handle is
    // owned here and nowhere else.
    unsafe {
        let snapshot = CreateToolhelp32Snapshot(TH32CS_SNAPTHREAD, 0);
        if snapshot == INVALID_HANDLE_VALUE {
            return Err(io::Error::last_os_error());
        }
        let snapshot = OwnedHandle::from_raw_handle(snapshot);
        let mut entry: THREADENTRY32 = zeroed();
        entry.dwSize = u32::try_from(size_of::<THREADENTRY32>()).unwrap_or(0);
        let mut more = Thread32First(snapshot.as_raw_handle(), &mut entry);
        while more != 0 {
            if entry.th32OwnerProcessID == process {
                let thread = OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID);
                if thread.is_null() {
                    return Err(io::Error::last_os_error());
                }
                let thread = OwnedHandle::from_raw_handle(thread);
                return match ResumeThread(thread.as_raw_handle()) {
                    u32::MAX => Err(io::Error::last_os_error()),
                    _ => Ok(()),
                };
            }
            more = Thread32Next(snapshot.as_raw_handle(), &mut entry);
        }
    }
    Err(io::Error::other("the new process has no thread"))
}
