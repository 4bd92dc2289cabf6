//! Other processes, what they share with everybody, their terminals, and those that outlive a command.

use super::Sign::{Hurt, If, Reached, Said};
use super::{Attack, But, attack, python};

#[rustfmt::skip] // One row an attack.
pub fn attacks() -> Vec<Attack> {
    vec![
        attack("kill", "kill -9 $VICTIM", Hurt),
        attack("stop-agent-group", "kill -s CONT $AGENT && echo ESCAPED", Said),
        attack("environment-of-others", "tr '\\0' '\\n' < /proc/$VICTIM/environ | grep -q canary-value && echo ESCAPED", Said),
        attack("memory-of-others", python!("f=open('/proc/%s/mem'%E['VICTIM'],'rb');print('ESCAPED')"), Said),
        attack("ptrace", python!("r=libc.ptrace(16,int(E['VICTIM']),0,0);print('ESCAPED' if r==0 else 'no')"), Said),
        attack("process-vm-read", python!("b=ctypes.create_string_buffer(8)\nclass V(ctypes.Structure): _fields_=[('p',ctypes.c_void_p),('n',ctypes.c_size_t)]\nm=[l for l in open('/proc/%s/maps'%E['VICTIM']) if ' r' in l][0];a=int(m.split('-')[0],16)\nr=libc.process_vm_readv(int(E['VICTIM']),ctypes.byref(V(ctypes.addressof(b),8)),1,ctypes.byref(V(a,8)),1,0);print('ESCAPED' if r>0 else 'no')"), Said),
        attack("limits-of-others", "prlimit --pid $VICTIM --core=0 && echo ESCAPED", Said),
        attack("priority-of-others", "renice -n 5 -p $VICTIM && echo ESCAPED", Said),
        attack("shared-memory", python!("k=libc.shmget(KEY,64,0o1666);libc.shmat.restype=ctypes.c_void_p;a=libc.shmat(k,0,0);ok=a not in (None,2**64-1)\nif ok: ctypes.memset(a,88,4)"), If(python!("k=libc.shmget(KEY,64,0o666);libc.shmat.restype=ctypes.c_void_p;a=libc.shmat(k,0,0) if k>=0 else None;ok=a not in (None,2**64-1) and ctypes.string_at(a,4)==b'XXXX';k>=0 and libc.shmctl(k,0,0);sys.exit(not ok)"))),
        attack("message-queue", python!("q=libc.msgget(KEY,0o1666);m=ctypes.create_string_buffer(struct.pack('l',1)+b'x');libc.msgsnd(q,m,1,0)"), If(python!("q=libc.msgget(KEY,0o666);b=ctypes.create_string_buffer(64);r=libc.msgrcv(q,b,8,0,0o4000) if q>=0 else -1;q>=0 and libc.msgctl(q,0,0);sys.exit(r<1)"))),
        attack("dev-shm-of-others", "echo x > /dev/shm/escape-$VICTIM", If("test -e /dev/shm/escape-$VICTIM && rm /dev/shm/escape-$VICTIM")),
        attack("memory-written", python!("b=ctypes.create_string_buffer(8)\nclass V(ctypes.Structure): _fields_=[('p',ctypes.c_void_p),('n',ctypes.c_size_t)]\nm=[l for l in open('/proc/%s/maps'%E['VICTIM']) if ' rw' in l][0];a=int(m.split('-')[0],16)\nio=lambda f:f(int(E['VICTIM']),ctypes.byref(V(ctypes.addressof(b),8)),1,ctypes.byref(V(a,8)),1,0)\nio(libc.process_vm_readv)\nprint('ESCAPED' if io(libc.process_vm_writev)>0 else 'no')"), Said),
        attack("memory-file-written", python!("f=open('/proc/%s/mem'%E['VICTIM'],'r+b');print('ESCAPED')"), Said),
        attack("descriptor-of-others", python!("p=libc.syscall(434,int(E['VICTIM']),0);print('ESCAPED' if libc.syscall(438,p,1,0)>=0 else 'no')"), Said),
        attack("signal-by-descriptor", python!("p=libc.syscall(434,int(E['VICTIM']),0);print('ESCAPED' if libc.syscall(424,p,18,0,0)==0 else 'no')"), Said),
        attack("signal-to-thread", python!("v=int(E['VICTIM']);print('ESCAPED' if libc.tgkill(v,v,18)==0 else 'no')"), Said),
        attack("queued-signal", python!("print('ESCAPED' if libc.sigqueue(int(E['VICTIM']),18,0)==0 else 'no')"), Said),
        attack("affinity-of-others", python!("v=int(E['VICTIM']);os.sched_setaffinity(v,os.sched_getaffinity(v));print('ESCAPED')"), Said),
        attack("scheduler-of-others", python!("os.sched_setscheduler(int(E['VICTIM']),os.SCHED_BATCH,os.sched_param(0));print('ESCAPED')"), Said),
        attack("io-priority-of-others", python!("print('ESCAPED' if libc.syscall(251,1,int(E['VICTIM']),0x4004)==0 else 'no')"), Said).x86_64(),
        attack("out-of-memory-score", "echo 500 > /proc/$VICTIM/oom_score_adj && echo ESCAPED", Said),
        attack("semaphore", python!("s=libc.semget(KEY,1,0o666);libc.semop(s,struct.pack('Hhh',0,1,0),1)"), If(python!("s=libc.semget(KEY,1,0o666);v=libc.semctl(s,0,12);libc.semctl(s,0,0);sys.exit(v!=1)"))).with(python!("sys.exit(libc.semget(KEY,1,0o1666)<0)")),
        attack("shared-memory-removed", python!("libc.shmctl(libc.shmget(KEY,64,0o666),0,0)"), If(python!("k=libc.shmget(KEY,64,0o666);k>=0 and libc.shmctl(k,0,0);sys.exit(k>=0)"))).with(python!("sys.exit(libc.shmget(KEY,64,0o1666)<0)")),
        attack("queue-removed", python!("libc.msgctl(libc.msgget(KEY,0o666),0,0)"), If(python!("q=libc.msgget(KEY,0o666);q>=0 and libc.msgctl(q,0,0);sys.exit(q>=0)"))).with(python!("sys.exit(libc.msgget(KEY,0o1666)<0)")),
        attack("named-queue", python!("libc.mq_open(b'/escape-%d'%KEY,0o102,0o600,None)"), If(python!("sys.exit(libc.mq_unlink(b'/escape-%d'%KEY)!=0)"))),
        // Terminals.
        attack("terminal-of-others", "echo x > $TERMINAL", Reached),
        attack("terminal-input", python!("fcntl.ioctl(os.open(E['TERMINAL'],os.O_RDONLY|os.O_NOCTTY),0x5412,b'x');print('ESCAPED')"), Said).by(But::Root),
        attack("terminal-input-high-bits", python!("libc.syscall.argtypes=[ctypes.c_long,ctypes.c_long,ctypes.c_long,ctypes.c_char_p];f=os.open(E['TERMINAL'],os.O_RDONLY|os.O_NOCTTY);print('ESCAPED' if libc.syscall(16,f,0x100005412,b'x')==0 else 'no')"), Said).by(But::Root).x86_64(),
        // Survivors.
        attack("daemon", "setsid sh -c '(sleep 0.6; echo x > $WS/late) &' ; true", If("sleep 1; test -e $WS/late")),
        attack("double-fork", python!("if os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  [os.close(i) for i in range(3)]\n  import time;time.sleep(0.6);open(E['WS']+'/late','w')\n os._exit(0)"), If("sleep 1; test -e $WS/late")),
        attack("stubborn", "trap '' TERM HUP INT; (sleep 0.6; echo x > $WS/late) & exit 0", If("sleep 1; test -e $WS/late")),
        attack("no-hang-up", "nohup sh -c 'sleep 0.6; echo x > $WS/late' >/dev/null 2>&1 & exit 0", If("sleep 1; test -e $WS/late")),
    ]
}
