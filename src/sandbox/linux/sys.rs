//! The system calls of the helper, each with its result as an `io::Result`.
//!
//! The helper has one thread, so forking it leaves every lock free and the child may run any code.

use std::ffi::CString;
use std::io;
use std::mem;
use std::os::fd::RawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

pub use libc::pid_t;

/// Turns the return value of a system call into a result.
fn check<T: PartialOrd + From<i8>>(value: T) -> io::Result<T> {
    if value < T::from(0) {
        Err(io::Error::last_os_error())
    } else {
        Ok(value)
    }
}

/// A path for the kernel.
pub fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(io::Error::other)
}

/// Forks: `None` in the child.
pub fn fork() -> io::Result<Option<pid_t>> {
    // SAFETY: the helper is single-threaded.
    let pid = check(unsafe { libc::fork() })?;
    Ok((pid > 0).then_some(pid))
}

/// Leaves at once, without running destructors: for children of `fork`.
pub fn leave(code: i32) -> ! {
    // SAFETY: never returns and touches no memory.
    unsafe { libc::_exit(code) }
}

/// `prctl` with one number.
pub fn prctl(option: i32, value: libc::c_ulong) -> io::Result<()> {
    let zero: libc::c_ulong = 0;
    // SAFETY: only called with options that take numbers.
    check(unsafe { libc::prctl(option, value, zero, zero, zero) }).map(drop)
}

/// A new session without a terminal.
pub fn new_session() {
    // SAFETY: no memory is involved. It fails only for a group leader, which has its session then.
    unsafe { libc::setsid() };
}

/// Sends a signal; a process that is gone is no error.
pub fn kill(pid: pid_t, signal: i32) {
    // SAFETY: no memory is involved.
    unsafe { libc::kill(pid, signal) };
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// With a code.
    Code(i32),
    /// By a signal.
    Signal(i32),
}

/// Waits for a child (`-1`: any). `None` with `block == false`: none has ended. The error `ECHILD`
/// says that there is no child at all.
pub fn wait(pid: pid_t, block: bool) -> io::Result<Option<(pid_t, Exit)>> {
    let mut status = 0;
    let flags = if block { 0 } else { libc::WNOHANG };
    loop {
        // SAFETY: `status` outlives the call.
        match check(unsafe { libc::waitpid(pid, &mut status, flags) }) {
            Ok(0) => return Ok(None),
            Ok(pid) if libc::WIFSIGNALED(status) => {
                return Ok(Some((pid, Exit::Signal(libc::WTERMSIG(status)))));
            }
            Ok(pid) => return Ok(Some((pid, Exit::Code(libc::WEXITSTATUS(status))))),
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Moves into new namespaces.
pub fn unshare(flags: i32) -> io::Result<()> {
    // SAFETY: no memory is involved.
    check(unsafe { libc::unshare(flags) }).map(drop)
}

/// Mounts a new file system.
pub fn mount_new(kind: &str, at: &Path, flags: libc::c_ulong, options: &str) -> io::Result<()> {
    let (kind, at) = (c_path(Path::new(kind))?, c_path(at)?);
    let options = c_path(Path::new(options))?;
    // SAFETY: all pointers are to strings that outlive the call.
    check(unsafe {
        libc::mount(
            kind.as_ptr(),
            at.as_ptr(),
            kind.as_ptr(),
            flags,
            options.as_ptr().cast(),
        )
    })
    .map(drop)
}

/// Shows `from` also at `at`, with what is mounted below it.
pub fn bind(from: &Path, at: &Path) -> io::Result<()> {
    let (from, at) = (c_path(from)?, c_path(at)?);
    // SAFETY: all pointers are to strings that outlive the call, or null where that is allowed.
    check(unsafe {
        libc::mount(
            from.as_ptr(),
            at.as_ptr(),
            ptr::null(),
            libc::MS_BIND | libc::MS_REC,
            ptr::null(),
        )
    })
    .map(drop)
}

/// Keeps all later mounts to this namespace.
pub fn make_mounts_private() -> io::Result<()> {
    // SAFETY: all pointers are to static strings, or null where that is allowed.
    check(unsafe {
        libc::mount(
            c"none".as_ptr(),
            c"/".as_ptr(),
            ptr::null(),
            libc::MS_REC | libc::MS_PRIVATE,
            ptr::null(),
        )
    })
    .map(drop)
}

/// Sets or clears the read-only flag of a mount, and of all below it if `deep`.
///
/// `mount_setattr` (Linux 5.12) keeps the other flags. The older way, a remount, fails in a user
/// namespace unless it repeats every locked flag.
pub fn set_read_only(at: &Path, read_only: bool, deep: bool) -> io::Result<()> {
    let at = c_path(at)?;
    let flag = libc::MOUNT_ATTR_RDONLY;
    let attr = libc::mount_attr {
        attr_set: if read_only { flag } else { 0 },
        attr_clr: if read_only { 0 } else { flag },
        propagation: 0,
        userns_fd: 0,
    };
    // SAFETY: path and structure outlive the call, and the size is that of the structure.
    check(unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            libc::AT_FDCWD,
            at.as_ptr(),
            if deep { libc::AT_RECURSIVE } else { 0 },
            &attr,
            mem::size_of_val(&attr),
        )
    })
    .map(drop)
}

/// Closes every descriptor above 2 but these, and makes these close at the next exec.
pub fn keep_only(keep: &[RawFd]) -> io::Result<()> {
    let mut keep: Vec<RawFd> = keep.iter().copied().filter(|fd| *fd > 2).collect();
    keep.sort_unstable();
    let mut from = 3;
    for fd in keep {
        close_range(from, fd - 1)?;
        // SAFETY: no memory is involved.
        check(unsafe { libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC) })?;
        from = fd + 1;
    }
    close_range(from, RawFd::MAX)
}

fn close_range(first: RawFd, last: RawFd) -> io::Result<()> {
    if first > last {
        return Ok(());
    }
    // SAFETY: the helper owns no descriptor in this range through a Rust value.
    let done = check(unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) });
    if done.is_ok() {
        return Ok(());
    }
    // Before Linux 5.9: one by one.
    for entry in std::fs::read_dir("/proc/self/fd")?.flatten() {
        let fd = entry.file_name().to_str().and_then(|n| n.parse().ok());
        if let Some(fd) = fd.filter(|fd| (first..=last).contains(fd)) {
            // SAFETY: as above; closing the one that lists the folder only fails.
            unsafe { libc::close(fd) };
        }
    }
    Ok(())
}

/// The signals that the supervisor takes by [`poll_signals`] instead of by handlers.
pub fn watched_signals() -> libc::sigset_t {
    // SAFETY: the set is initialised by `sigemptyset` before any other use.
    unsafe {
        let mut set = mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in [libc::SIGTERM, libc::SIGINT, libc::SIGHUP, libc::SIGCHLD] {
            libc::sigaddset(&mut set, signal);
        }
        set
    }
}

/// Blocks the watched signals and gives a descriptor from which they can be read.
pub fn signal_descriptor() -> io::Result<RawFd> {
    let set = watched_signals();
    // SAFETY: the set outlives the calls.
    unsafe {
        check(libc::sigprocmask(libc::SIG_BLOCK, &set, ptr::null_mut()))?;
        check(libc::signalfd(
            -1,
            &set,
            libc::SFD_CLOEXEC | libc::SFD_NONBLOCK,
        ))
    }
}

/// Takes one pending signal from the descriptor.
pub fn next_signal(fd: RawFd) -> Option<i32> {
    // SAFETY: the structure is plain numbers, and `read` writes at most its size.
    unsafe {
        let mut info: libc::signalfd_siginfo = mem::zeroed();
        let size = mem::size_of_val(&info);
        let got = libc::read(fd, ptr::from_mut(&mut info).cast(), size);
        (usize::try_from(got) == Ok(size)).then_some(info.ssi_signo as i32)
    }
}

/// Waits until one of two descriptors has something, at most `ms` milliseconds. A negative
/// descriptor is left out.
pub fn poll(fds: [RawFd; 2], ms: i32) -> [bool; 2] {
    let mut entries = fds.map(|fd| libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    });
    // SAFETY: pointer and length are those of the array.
    let ready = unsafe { libc::poll(entries.as_mut_ptr(), 2, ms) };
    entries.map(|e| ready > 0 && e.revents != 0)
}

/// Gives the command the signals of a fresh process: none blocked, none ignored.
pub fn reset_signals() {
    // SAFETY: setting the default action takes no pointer; signals that cannot be set are refused.
    unsafe {
        for signal in 1..=libc::SIGRTMAX() {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none = mem::zeroed();
        libc::sigemptyset(&mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &none, ptr::null_mut());
    }
}

/// Sets soft and hard limit of a resource.
pub fn limit(resource: libc::__rlimit_resource_t, value: libc::rlim_t) {
    let limit = libc::rlimit {
        rlim_cur: value,
        rlim_max: value,
    };
    // SAFETY: the structure outlives the call. Raising above the hard limit fails, which is fine.
    unsafe { libc::setrlimit(resource, &limit) };
}

/// Effective user and group.
pub fn ids() -> (libc::uid_t, libc::gid_t) {
    // SAFETY: no memory is involved; always succeeds.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Writes all of a text to a descriptor that nobody owns as a Rust value.
pub fn write(fd: RawFd, text: &str) {
    let mut rest = text.as_bytes();
    while !rest.is_empty() {
        // SAFETY: pointer and length are those of the slice.
        let n = unsafe { libc::write(fd, rest.as_ptr().cast(), rest.len()) };
        match usize::try_from(n) {
            Ok(n) if n > 0 => rest = rest.get(n..).unwrap_or_default(),
            _ => return,
        }
    }
}

/// Brings up the loopback interface of a new network namespace. Any kind of socket serves; a
/// stream is the one that an offline run still has.
pub fn loopback_up() -> io::Result<()> {
    // SAFETY: the request structure is initialised and outlives the calls; the socket is closed.
    unsafe {
        let socket = check(libc::socket(
            libc::AF_INET,
            libc::SOCK_STREAM | libc::SOCK_CLOEXEC,
            0,
        ))?;
        let mut request: libc::ifreq = mem::zeroed();
        for (to, from) in request.ifr_name.iter_mut().zip(c"lo".to_bytes()) {
            *to = *from as libc::c_char;
        }
        request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        let done = check(libc::ioctl(socket, libc::SIOCSIFFLAGS as _, &request));
        libc::close(socket);
        done.map(drop)
    }
}

/// Locks an open file or folder without waiting; `false` when somebody else holds it.
pub fn try_lock(fd: RawFd, exclusive: bool) -> bool {
    let kind = if exclusive {
        libc::LOCK_EX
    } else {
        libc::LOCK_SH
    };
    // SAFETY: no memory is involved.
    unsafe { libc::flock(fd, kind | libc::LOCK_NB) == 0 }
}

/// Becomes another program, looked up in `PATH`; comes back only with an error.
pub fn exec(command: &[std::ffi::OsString]) -> io::Error {
    let args: Result<Vec<CString>, _> = command.iter().map(|a| c_path(Path::new(a))).collect();
    let args = match args {
        Ok(args) => args,
        Err(e) => return e,
    };
    let mut pointers: Vec<_> = args.iter().map(|a| a.as_ptr()).collect();
    pointers.push(ptr::null());
    // SAFETY: the array ends with a null pointer and, like its strings, outlives the call; there
    // is at least one argument, since the helper refuses an empty command.
    unsafe { libc::execvp(pointers[0], pointers.as_ptr()) };
    io::Error::last_os_error()
}

/// Takes away every capability that is not in `keep`, and all inheritable ones.
pub fn intersect_capabilities(keep: u64) -> io::Result<()> {
    // `_LINUX_CAPABILITY_VERSION_3` for the calling thread.
    let header: [u32; 2] = [0x2008_0522, 0];
    // Effective, permitted, inheritable; the low 32 bits, then the high ones.
    let mut sets = [[0u32; 3]; 2];
    let (low, high) = (keep as u32, (keep >> 32) as u32);
    // SAFETY: header and sets have the layout of version 3 and outlive the calls.
    unsafe {
        check(libc::syscall(
            libc::SYS_capget,
            header.as_ptr(),
            sets.as_mut_ptr(),
        ))?;
        for (set, keep) in sets.iter_mut().zip([low, high]) {
            *set = [set[0] & keep, set[1] & keep, 0];
        }
        check(libc::syscall(
            libc::SYS_capset,
            header.as_ptr(),
            sets.as_ptr(),
        ))
        .map(drop)
    }
}

/// The version of Landlock in the running kernel; 0 without it.
pub fn landlock_version() -> i32 {
    const VERSION: u32 = 1;
    let none = ptr::null::<u8>();
    // SAFETY: with this flag the kernel takes a null pointer of size 0 and only answers.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, none, 0usize, VERSION) };
    i32::try_from(version).unwrap_or(0).max(0)
}
