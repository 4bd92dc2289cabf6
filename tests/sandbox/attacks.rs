//! Ways out of the fence that must be shut.

use crate::world::{Form, World, fenced, is_root};
use Sign::{Hurt, If, Reached, Said};

/// How one sees that an attack succeeded.
enum Sign {
    /// This shell condition holds outside afterwards.
    If(&'static str),
    /// The attack itself says `ESCAPED`.
    Said,
    /// A socket outside got something.
    Reached,
    /// The process outside is gone.
    Hurt,
}

/// Where an attack is known to succeed, or cannot be tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum But {
    /// It must always fail.
    Never,
    /// It works without namespaces; `facts` call this tier partial for it.
    Partial,
    /// It takes root to try.
    Root,
}

struct Attack {
    name: &'static str,
    script: &'static str,
    sign: Sign,
    but: But,
    /// The call numbers in it are those of x86_64.
    x86_64: bool,
}

const fn attack(name: &'static str, script: &'static str, sign: Sign) -> Attack {
    Attack {
        name,
        script,
        sign,
        but: But::Never,
        x86_64: false,
    }
}

const fn except(but: But, attack: Attack) -> Attack {
    Attack { but, ..attack }
}

const OUT_NEW: Sign = If("test -e $OUT/new");
const VICTIM: Sign = If("! grep -q '^precious$' $OUT/victim");
const CONFIG: Sign = If("grep -q evil $WS/.git/config");

/// A line of Python with the modules and system calls that attacks need.
macro_rules! python {
    ($code:literal) => {
        concat!(
            "/usr/bin/python3 - <<'EOF'\n",
            "import os,sys,socket,ctypes,fcntl,struct,mmap\n",
            "E=os.environ\nlibc=ctypes.CDLL(None,use_errno=True)\n",
            $code,
            "\nEOF"
        )
    };
}

fn attacks() -> Vec<Attack> {
    vec![
        // Files outside.
        attack("write-outside", "echo x > $OUT/new", OUT_NEW),
        attack("append-outside", "echo x >> $OUT/victim", If("grep -q x $OUT/victim")),
        attack("truncate-outside", "truncate -s 0 $OUT/victim", VICTIM),
        attack("truncate-call", python!("libc.truncate(E['OUT'].encode()+b'/victim',0)"), VICTIM),
        attack("open-truncate", ": > $OUT/victim", VICTIM),
        attack("unlink-outside", "rm -f $OUT/victim", VICTIM),
        attack("mkdir-outside", "mkdir $OUT/new", OUT_NEW),
        attack("mkfifo-outside", "mkfifo $OUT/new", OUT_NEW),
        attack("symlink-outside", "ln -s /etc $OUT/new", If("test -L $OUT/new")),
        attack("rename-outside", "mv $OUT/victim $OUT/new", OUT_NEW),
        attack("rename-out", "mv src $OUT/new", OUT_NEW),
        attack("rename-in", "mv $OUT/victim stolen", VICTIM),
        attack("rename-over", "mv src/a.txt $OUT/victim", VICTIM),
        attack("exchange", python!("a=(E['WS']+'/src/a.txt').encode();b=(E['OUT']+'/victim').encode();libc.renameat2(-100,a,-100,b,2)"), VICTIM),
        attack("hard-link-out", "ln src/a.txt $OUT/new", OUT_NEW),
        attack("hard-link-in", "ln $OUT/victim l && echo x > l", VICTIM),
        attack("symlink-then-write", "ln -s $OUT l && echo x > l/new", OUT_NEW),
        attack("symlink-file", "ln -s $OUT/victim l && echo x > l", VICTIM),
        attack("dot-dot", "echo x > ../out/new", OUT_NEW),
        attack("proc-root", "echo x > /proc/self/root$OUT/new", OUT_NEW),
        attack("proc-cwd", "cd $OUT && echo x > /proc/self/cwd/new", OUT_NEW),
        attack("proc-fd-reopen", "exec 5< $OUT/victim; echo x > /proc/self/fd/5", VICTIM),
        attack("agent-root", "echo x > /proc/$AGENT/root$OUT/new", OUT_NEW),
        attack("agent-cwd", "echo x > /proc/$VICTIM/root$OUT/new", OUT_NEW),
        attack("o-path-reopen", python!("d=os.open(E['OUT'],os.O_PATH);open('/proc/self/fd/%d/new'%d,'w')"), OUT_NEW),
        attack("o-tmpfile", python!("f=os.open(E['OUT'],os.O_TMPFILE|os.O_WRONLY,0o600);libc.linkat(-100,b'/proc/self/fd/%d'%f,-100,(E['OUT']+'/new').encode(),0x400)"), OUT_NEW),
        attack("shared-mapping", python!("f=os.open(E['OUT']+'/victim',os.O_RDWR);m=mmap.mmap(f,8);m[0]=88;m.flush()"), VICTIM),
        attack("fallocate", python!("f=os.open(E['OUT']+'/victim',os.O_RDWR);os.ftruncate(f,1)"), VICTIM),
        attack("creat", python!("libc.creat((E['OUT']+'/new').encode(),0o644)"), OUT_NEW),
        attack("io-uring-is-shut", python!("r=libc.syscall(425,8,ctypes.create_string_buffer(120));print('ESCAPED' if r>=0 else 'no')"), Said),
        attack("other-temp", "echo x > /var/tmp/escape-$VICTIM", If("test -e /var/tmp/escape-$VICTIM && rm /var/tmp/escape-$VICTIM")),
        attack("shell-start-file", "mkdir -p $OUT/rc && echo x > $OUT/rc/.bashrc", If("test -e $OUT/rc/.bashrc")),
        attack("cp-preserve", "cp -p src/a.txt $OUT/new", OUT_NEW),
        attack("dd-over", "dd if=/dev/zero of=$OUT/victim bs=1 count=3 conv=notrunc", VICTIM),
        attack("tar-out", "tar cf a.tar src && tar xf a.tar -C $OUT", If("test -e $OUT/src")),
        attack("background-write", "(sleep 0.2; echo x > $OUT/new) & sleep 0.4", OUT_NEW),
        attack("python-subprocess", python!("import subprocess;subprocess.run(['sh','-c','echo x > $OUT/new'])"), OUT_NEW),
        attack("new-session", "setsid sh -c 'echo x > $OUT/new'; sleep 0.1", OUT_NEW),
        // What no Landlock knows.
        except(But::Partial, attack("chmod-outside", "chmod 777 $OUT/victim", If("test $(stat -c %a $OUT/victim) = 777"))),
        except(But::Partial, attack("utime-outside", "touch -d 2001-01-01 $OUT/victim", If("test $(stat -c %Y $OUT/victim) -lt 1000000000"))),
        except(But::Partial, attack("xattr-outside", python!("os.setxattr(E['OUT']+'/victim','user.x',b'1')"), If("/usr/bin/python3 -c 'import os;os.getxattr(os.environ[\"OUT\"]+\"/victim\",\"user.x\")'"))),
        except(But::Root, attack("chown-outside", "chown 1:1 $OUT/victim", If("test $(stat -c %u $OUT/victim) = 1"))),
        except(But::Root, attack("mknod-disk", "mknod disk b 254 0", If("test -e $WS/disk"))),
        except(But::Root, attack("mount", "mkdir m && mount -t tmpfs x m && echo ESCAPED; umount m", Said)),
        except(But::Root, attack("remount", "mkdir m && mount --bind $OUT m && echo x > m/new; umount m", OUT_NEW)),
        except(But::Root, attack("chroot", "/usr/sbin/chroot / sh -c 'echo ESCAPED'", Said)),
        except(But::Root, attack("kernel-setting", "echo 1 > /proc/sys/vm/overcommit_ratio; echo 50 > /proc/sys/vm/overcommit_ratio && echo ESCAPED", Said)),
        except(But::Root, attack("kernel-log", "echo x > /dev/kmsg && echo ESCAPED", Said)),
        except(But::Root, attack("open-by-handle", python!("h=ctypes.create_string_buffer(struct.pack('Ii',128,0)+bytes(128));m=ctypes.c_int();libc.name_to_handle_at(-100,(E['OUT']+'/victim').encode(),h,ctypes.byref(m),0);f=libc.open_by_handle_at(os.open('/',0),h,os.O_WRONLY);os.write(f,b'X')"), VICTIM)),
        except(But::Root, attack("hostname", python!("n=socket.gethostname().encode();r=libc.sethostname(n,len(n));print('ESCAPED' if r==0 else 'no')"), Said)),
        // New namespaces would give new rights.
        attack("user-namespace", "unshare -r true && echo ESCAPED", Said),
        attack("user-namespace-clone", python!("r=libc.syscall(56,0x10000000|17,0,0,0,0)\nif r==0: os._exit(0)\nprint('ESCAPED' if r>0 else 'no')"), Said).x86_64(),
        attack("user-namespace-x32", python!("import platform\nr=libc.syscall(0x40000000|272,0x10000000) if platform.machine()=='x86_64' else -1\nr=libc.unshare(0x10000000) if r<0 else r\nprint('ESCAPED' if r==0 else 'no')"), Said),
        // Protected names.
        attack("git-config", "echo '# evil' >> .git/config", CONFIG),
        attack("git-config-command", "git config core.fsmonitor evil", CONFIG),
        attack("git-config-rename-over", "echo evil > c && mv c .git/config", CONFIG),
        attack("git-config-hard-link", "ln .git/config l && echo evil >> l", CONFIG),
        attack("git-hook", "echo evil > .git/hooks/pre-commit", If("test -e $WS/.git/hooks/pre-commit")),
        attack("git-hook-chmod-mv", "mv .git/hooks .git/h && mkdir .git/hooks && echo evil > .git/hooks/x", If("test -e $WS/.git/hooks/x")),
        attack("git-moved-away", "mv .git g && mkdir .git && echo evil > .git/config", CONFIG),
        attack("git-symlink-swap", "mv .git g && mkdir e && echo evil > e/config && ln -s e .git", CONFIG),
        attack("git-upper-parent", "mv $WS $WS-2 && mkdir -p $WS/.git && echo evil > $WS/.git/config", CONFIG),
        attack("git-umount", "umount .git; umount -l .git; echo evil >> .git/config", CONFIG),
        attack("git-common-dir", "echo $OUT > .git/commondir", If("test -e $WS/.git/commondir")),
        attack("own-config-planted", "mkdir .openinterpreter; echo evil > .openinterpreter/config.toml", If("grep -q evil $WS/.openinterpreter/config.toml")),
        attack("agents-planted", "mkdir -p .agents/skills; echo evil > .agents/skills/x", If("test -e $WS/.agents/skills/x")),
        attack("codex-planted-by-rename", "mkdir -p c && echo evil > c/config.toml && rmdir .codex; mv c .codex", If("grep -q evil $WS/.codex/config.toml")),
        attack("codex-planted-as-link", "rmdir .codex; mkdir c && echo evil > c/config.toml && ln -s c .codex", If("grep -q evil $WS/.codex/config.toml")),
        // Our own home.
        attack("own-home-write", "echo x > $OWN/config.toml", If("test -e $OWN/config.toml")),
        attack("own-home-key", "grep -q key-in $OWN/auth.json && echo ESCAPED", Said),
        attack("own-home-key-link", "ln -s $OWN l; grep -q key-in l/auth.json && echo ESCAPED", Said),
        attack("own-home-key-through-agent", "grep -q key-in /proc/$VICTIM/root$OWN/auth.json && echo ESCAPED", Said),
        // Sockets.
        attack("tcp", python!("socket.create_connection(('127.0.0.1',int(E['TCP'])),2);print('ESCAPED')"), Said),
        attack("tcp-by-bash", "bash -c 'exec 3<>/dev/tcp/127.0.0.1/'$TCP && echo ESCAPED", Said),
        attack("udp", python!("socket.socket(2,2).sendto(b'x',('127.0.0.1',int(E['UDP'])))"), Reached),
        attack("udp6-mapped", python!("socket.socket(10,2).sendto(b'x',('::ffff:127.0.0.1',int(E['UDP'])))"), Reached),
        attack("unix-stream", python!("s=socket.socket(1,1);s.connect(E['OUT']+'/stream');print('ESCAPED')"), Said),
        attack("unix-datagram", python!("s=socket.socket(1,2);s.sendto(b'x',E['OUT']+'/datagram')"), Reached),
        attack("unix-datagram-pair", python!("a,b=socket.socketpair(1,2);a.sendto(b'x',E['OUT']+'/datagram')"), Reached),
        attack("unix-raw-pair", python!("a,b=socket.socketpair(1,3);a.sendto(b'x',E['OUT']+'/datagram')"), Reached),
        attack("unix-high-bits", python!("libc.syscall.argtypes=[ctypes.c_long]*4;f=libc.syscall(41,0x100000001,1,0);s=socket.socket(fileno=f);s.connect(E['OUT']+'/stream');print('ESCAPED')"), Said).x86_64(),
        attack("packet-or-vsock", python!("socket.socket(40,1);print('ESCAPED')"), Said),
        // Other processes.
        attack("kill", "kill -9 $VICTIM", Hurt),
        attack("stop-agent-group", "kill -s CONT $AGENT && echo ESCAPED", Said),
        attack("environment-of-others", "tr '\\0' '\\n' < /proc/$VICTIM/environ | grep -q canary-value && echo ESCAPED", Said),
        attack("memory-of-others", python!("f=open('/proc/%s/mem'%E['VICTIM'],'rb');print('ESCAPED')"), Said),
        attack("ptrace", python!("r=libc.ptrace(16,int(E['VICTIM']),0,0);print('ESCAPED' if r==0 else 'no')"), Said),
        attack("process-vm-read", python!("b=ctypes.create_string_buffer(8)\nclass V(ctypes.Structure): _fields_=[('p',ctypes.c_void_p),('n',ctypes.c_size_t)]\nm=[l for l in open('/proc/%s/maps'%E['VICTIM']) if ' r' in l][0];a=int(m.split('-')[0],16)\nr=libc.process_vm_readv(int(E['VICTIM']),ctypes.byref(V(ctypes.addressof(b),8)),1,ctypes.byref(V(a,8)),1,0);print('ESCAPED' if r>0 else 'no')"), Said),
        attack("limits-of-others", "prlimit --pid $VICTIM --core=0 && echo ESCAPED", Said),
        attack("priority-of-others", "renice -n 5 -p $VICTIM && echo ESCAPED", Said),
        attack("shared-memory", python!("k=libc.shmget(0x5eed,64,0o1666);libc.shmat.restype=ctypes.c_void_p;a=libc.shmat(k,0,0);ok=a not in (None,2**64-1)\nif ok: ctypes.memset(a,88,4)"), If("/usr/bin/python3 -c 'import ctypes;l=ctypes.CDLL(None);k=l.shmget(0x5eed,64,0o666);l.shmat.restype=ctypes.c_void_p;a=l.shmat(k,0,0) if k>=0 else None;ok=a not in (None,2**64-1) and ctypes.string_at(a,4)==b\"XXXX\";k>=0 and l.shmctl(k,0,0);raise SystemExit(0 if ok else 1)'")),
        attack("message-queue-is-own", python!("q=libc.msgget(0x5eed,0o1666);m=ctypes.create_string_buffer(struct.pack('l',1)+b'x');libc.msgsnd(q,m,1,0)"), If("/usr/bin/python3 -c 'import ctypes;l=ctypes.CDLL(None);q=l.msgget(0x5eed,0o666);b=ctypes.create_string_buffer(64);r=l.msgrcv(q,b,8,0,0o4000) if q>=0 else -1;q>=0 and l.msgctl(q,0,0);raise SystemExit(0 if r>=1 else 1)'")),
        attack("dev-shm-of-others", "echo x > /dev/shm/escape-$VICTIM", If("test -e /dev/shm/escape-$VICTIM && rm /dev/shm/escape-$VICTIM")),
        // Survivors.
        attack("daemon", "setsid sh -c '(sleep 0.6; echo x > $WS/late) &' ; true", If("sleep 1; test -e $WS/late")),
        attack("double-fork", python!("if os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  [os.close(i) for i in range(3)]\n  import time;time.sleep(0.6);open(E['WS']+'/late','w')\n os._exit(0)"), If("sleep 1; test -e $WS/late")),
        // System calls that nobody needs.
        attack("keyring", python!("r=libc.syscall(248,b'user',b'x',b'y',1,-3);print('ESCAPED' if r>0 else 'no')"), Said).x86_64(),
        except(But::Root, attack("bpf", python!("r=libc.syscall(321,0,ctypes.create_string_buffer(struct.pack('IIII',2,4,4,1)+bytes(112)),128);print('ESCAPED' if r>=0 else 'no')"), Said).x86_64()),
    ]
}

impl Attack {
    const fn x86_64(self) -> Self {
        Self {
            x86_64: true,
            ..self
        }
    }

    fn applies(&self) -> bool {
        (is_root() || self.but != But::Root) && (cfg!(target_arch = "x86_64") || !self.x86_64)
    }

    fn may_escape(&self, form: Form) -> bool {
        form == Form::Partial && self.but == But::Partial
    }

    /// Runs it in a world of its own. True when it got out; `None` where the form is missing.
    fn escapes(&self, form: Form) -> Option<(bool, String)> {
        let mut world = World::new();
        let output = match form {
            Form::Control => world.unfenced(self.script).1,
            _ => fenced(&world.sandbox(form)?, &world.run(self.script)).1,
        };
        let out = match self.sign {
            If(condition) => world.unfenced(condition).0,
            Said => output.contains("ESCAPED"),
            Reached => world.was_reached(),
            Hurt => crate::world::soon(|| world.victim_is_hurt()),
        };
        Some((out, output))
    }
}

/// Runs every attack in a form; gives the names of those that got out although they must not.
fn escaped(form: Form) -> Vec<String> {
    let all = attacks().into_iter().filter(Attack::applies);
    all.filter(|attack| !attack.may_escape(form))
        .filter_map(|attack| {
            let (out, output) = attack.escapes(form)?;
            out.then(|| format!("{}: {output}", attack.name))
        })
        .collect()
}

#[test]
fn attacks_work_without_a_sandbox() {
    // A machine may be hardened against some of these itself.
    const MAY_BE_HARDENED: [&str; 7] = [
        "io-uring-is-shut",
        "user-namespace",
        "user-namespace-clone",
        "user-namespace-x32",
        "ptrace",
        "packet-or-vsock",
        "hard-link-in",
    ];
    let tame: Vec<_> = attacks()
        .into_iter()
        .filter(Attack::applies)
        .filter_map(|attack| {
            let (out, output) = attack.escapes(Form::Control)?;
            (!out).then_some((attack.name, output))
        })
        .collect();
    eprintln!("stopped by this machine itself: {tame:?}");
    let unexpected: Vec<_> = tame
        .iter()
        .filter(|(name, _)| !MAY_BE_HARDENED.contains(name))
        .collect();
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

#[test]
fn no_attack_leaves_the_full_fence() {
    assert_eq!(escaped(Form::Auto), Vec::<String>::new());
}

#[test]
fn without_namespaces_only_the_known_gaps_are_open() {
    assert_eq!(escaped(Form::Partial), Vec::<String>::new());
}

#[test]
fn no_attack_leaves_the_read_only_fence() {
    assert_eq!(escaped(Form::ReadOnly), Vec::<String>::new());
}
