//! The filter of system calls: what neither mounts nor Landlock can refuse.

use crate::sandbox::plan::Plan;
use seccompiler::SeccompCmpArgLen::{Dword, Qword};
use seccompiler::SeccompCmpOp::{Eq, MaskedEq, Ne};
use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule, TargetArch,
};
use std::collections::BTreeMap;

/// Rules by system call; any one that matches refuses the call, none at all refuses it always.
type Rules = BTreeMap<i64, Vec<SeccompRule>>;

/// `open_tree_attr`, which has this number on every architecture.
const OPEN_TREE_ATTR: i64 = 467;

/// Refused with `EPERM`: calls that change the system, reach other processes, or make new mounts.
const REFUSED: &[i64] = &[
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_adjtimex,
    libc::SYS_bpf,
    libc::SYS_chroot,
    libc::SYS_clock_adjtime,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_init_module,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    libc::SYS_kexec_file_load,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_by_handle_at,
    libc::SYS_open_tree,
    libc::SYS_perf_event_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_pivot_root,
    libc::SYS_process_vm_writev,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_syslog,
    libc::SYS_umount2,
    OPEN_TREE_ATTR,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Refused too without a namespace of their own: queues and memory shared with the whole system.
const SHARED: &[i64] = &[
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
    libc::SYS_msgctl,
    libc::SYS_msgrcv,
    libc::SYS_msgsnd,
    libc::SYS_semctl,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_shmat,
    libc::SYS_shmctl,
];

/// Refused too without them, for any process but the caller: 0 in this argument.
const OF_OTHERS: &[(i64, u8)] = &[
    (libc::SYS_ioprio_set, 1),
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setattr, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setscheduler, 0),
];

/// Calls that signal a process, or get hold of one to signal it, and the arguments that name it.
const SIGNALS: &[(i64, &[u8])] = &[
    (libc::SYS_kill, &[0]),
    (libc::SYS_tkill, &[0]),
    (libc::SYS_tgkill, &[0, 1]),
    (libc::SYS_rt_sigqueueinfo, &[0]),
    (libc::SYS_rt_tgsigqueueinfo, &[0, 1]),
    (libc::SYS_pidfd_open, &[0]),
];

/// Answered with `ENOSYS`, so that callers take the older call, whose arguments a filter can see.
const ABSENT: &[i64] = &[libc::SYS_clone3];

/// Answered so too: it makes sockets and sends without the calls that a filter looks at.
const IO_URING: &[i64] = &[
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
];

/// The flags of `unshare` and `clone` that make a namespace: mount, cgroup, uts, ipc, user, pid, net.
const NAMESPACES: [i32; 7] = [
    libc::CLONE_NEWNS,
    libc::CLONE_NEWCGROUP,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
];
/// `CLONE_NEWTIME`, for `unshare` only; in `clone` this bit is part of the exit signal.
const NEW_TIME: u64 = 0x80;

/// `TIOCSTI` types into the terminal of somebody else, `TIOCLINUX` pastes into a console. The
/// numbers are the same on all three architectures.
const TERMINAL_INPUT: [u64; 2] = [0x5412, 0x541c];

/// Requests that set the flags and the project of a file, which take a descriptor that only reads:
/// `FS_IOC_SETFLAGS` in both widths, `FS_IOC_SETVERSION`, `FS_IOC_FSSETXATTR`. Mounts judge them.
const FILE_FLAGS: [u64; 4] = [0x4008_6602, 0x4004_6602, 0x4008_7602, 0x401c_5820];
/// The newer call for the same. Newer calls have one number everywhere.
const FILE_SETATTR: i64 = 469;

/// On x86_64 every call has a second number, with this bit set, for 32-bit pointers.
const X32: i64 = 0x4000_0000;

/// Puts the filter on this process and all that come from it. `no_new_privs` must be set.
pub fn restrict(plan: &Plan) -> Result<(), String> {
    apply(programs(plan))
}

/// Leaves this process and all that come from it no way to another machine but a TCP connection.
/// Named Unix sockets stay, since they are the way to the desktop and the terminal's own programs.
pub fn restrict_to_tcp() -> Result<(), String> {
    apply(tcp_only())
}

fn apply(programs: Result<[BpfProgram; 2], BackendError>) -> Result<(), String> {
    programs
        .map_err(|e| format!("the system call filter could not be built: {e}"))?
        .iter()
        .try_for_each(|program| seccompiler::apply_filter(program))
        .map_err(|e| format!("the kernel refused the system call filter: {e}"))
}

fn tcp_only() -> Result<[BpfProgram; 2], BackendError> {
    let families = [libc::AF_INET, libc::AF_INET6];
    let open = families.iter().chain(&[libc::AF_UNIX, libc::AF_NETLINK]);
    let other: Vec<_> = open.map(|f| (0, Dword, Ne, *f as u64)).collect();
    let mut socket = vec![all_of(&other)?];
    for family in families.map(|f| f as u64) {
        // The low four bits are the kind, the others flags; a filter cannot ask for "not this kind".
        for kind in (0..16).filter(|kind| *kind != libc::SOCK_STREAM as u64) {
            socket.push(all_of(&[
                (0, Dword, Eq, family),
                (1, Dword, MaskedEq(0xf), kind),
            ])?);
        }
        // A stream may be another protocol than TCP, which Landlock does not look at.
        socket.push(all_of(&[
            (0, Dword, Eq, family),
            (2, Dword, Ne, 0),
            (2, Dword, Ne, libc::IPPROTO_TCP as u64),
        ])?);
    }
    // Sending with this flag connects without the call that Landlock judges.
    let fast = MaskedEq(libc::MSG_FASTOPEN as u64);
    let mut rules = Rules::from([(libc::SYS_socket, socket)]);
    for (call, flags) in [
        (libc::SYS_sendto, 3),
        (libc::SYS_sendmsg, 2),
        (libc::SYS_sendmmsg, 3),
    ] {
        let rule = all_of(&[(flags, Dword, fast.clone(), libc::MSG_FASTOPEN as u64)])?;
        rules.insert(call, vec![rule]);
    }
    Ok([
        compile(rules, libc::EPERM)?,
        compile(always(IO_URING), libc::ENOSYS)?,
    ])
}

/// Rules that refuse these calls whatever their arguments.
fn always(calls: &[i64]) -> Rules {
    calls.iter().map(|call| (*call, vec![])).collect()
}

/// The filters, in the order in which they are put on.
fn programs(plan: &Plan) -> Result<[BpfProgram; 2], BackendError> {
    let absent = [ABSENT, IO_URING].concat();
    Ok([
        compile(refused(plan)?, libc::EPERM)?,
        compile(always(&absent), libc::ENOSYS)?,
    ])
}

fn compile(mut rules: Rules, errno: i32) -> Result<BpfProgram, BackendError> {
    let arch = TargetArch::try_from(std::env::consts::ARCH)?;
    if arch == TargetArch::x86_64 {
        let again: Vec<_> = rules.iter().map(|(n, r)| (n | X32, r.clone())).collect();
        rules.extend(again);
    }
    let action = SeccompAction::Errno(errno as u32);
    SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()
}

/// A rule of conditions that must all hold.
fn all_of(
    conditions: &[(u8, SeccompCmpArgLen, SeccompCmpOp, u64)],
) -> Result<SeccompRule, BackendError> {
    let conditions = conditions
        .iter()
        .map(|(arg, len, op, value)| SeccompCondition::new(*arg, len.clone(), op.clone(), *value))
        .collect::<Result<_, _>>()?;
    SeccompRule::new(conditions)
}

fn refused(plan: &Plan) -> Result<Rules, BackendError> {
    let mut rules = always(REFUSED);
    let namespaces = plan.tier.has_namespaces();
    if !namespaces {
        rules.extend(always(SHARED));
        rules.insert(FILE_SETATTR, vec![]);
        for (call, process) in OF_OTHERS {
            rules.insert(*call, vec![all_of(&[(*process, Dword, Ne, 0)])?]);
        }
        // Before version 6 Landlock knows nothing of signals. Who puts back what a command changed
        // must not be killed before: neither alone, nor with its group, nor with everybody.
        let supervisor = std::os::unix::process::parent_id() as i32;
        for (call, arguments) in SIGNALS {
            let named = arguments.iter().flat_map(|argument| {
                let all = [supervisor, -supervisor, -1];
                all.map(|process| all_of(&[(*argument, Dword, Eq, u64::from(process as u32))]))
            });
            rules.insert(*call, named.collect::<Result<_, _>>()?);
        }
    }

    // Limits and priorities of others; 0 is the caller itself.
    rules.insert(libc::SYS_prlimit64, vec![all_of(&[(0, Dword, Ne, 0)])?]);
    rules.insert(libc::SYS_setpriority, vec![all_of(&[(1, Dword, Ne, 0)])?]);

    let flag = |flag: u64| all_of(&[(0, Qword, MaskedEq(flag), flag)]);
    let clone = NAMESPACES.iter().map(|f| flag(u64::from(*f as u32)));
    let clone: Vec<_> = clone.collect::<Result<_, _>>()?;
    let mut unshare = clone.clone();
    unshare.push(flag(NEW_TIME)?);
    rules.insert(libc::SYS_clone, clone);
    rules.insert(libc::SYS_unshare, unshare);

    // The kernel looks at 32 bits of the request, so must we.
    let flags = if namespaces { &[][..] } else { &FILE_FLAGS };
    let requests = TERMINAL_INPUT.iter().chain(flags);
    let requests = requests.map(|n| all_of(&[(1, Dword, Eq, *n)]));
    rules.insert(libc::SYS_ioctl, requests.collect::<Result<_, _>>()?);

    // Named Unix sockets are doors to daemons outside, with or without a network.
    if plan.network || namespaces {
        let families = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
        let other = families.map(|family| (0, Dword, Ne, family as u64));
        rules.insert(libc::SYS_socket, vec![all_of(&other)?]);
    } else {
        rules.insert(libc::SYS_socket, vec![]);
        rules.insert(libc::SYS_connect, vec![]);
    }
    // A pair of datagram sockets can be pointed at any named socket with `sendto`.
    let kind = MaskedEq(0xf);
    rules.insert(
        libc::SYS_socketpair,
        vec![
            all_of(&[(0, Dword, Ne, libc::AF_UNIX as u64)])?,
            all_of(&[(1, Dword, kind.clone(), libc::SOCK_DGRAM as u64)])?,
            all_of(&[(1, Dword, kind, libc::SOCK_RAW as u64)])?,
        ],
    );
    Ok(rules)
}
