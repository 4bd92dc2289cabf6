//! Calls that change the whole system or give new rights.

use super::Sign::{If, Said};
use super::{Attack, But, OUT_NEW, VICTIM, attack, python};

#[rustfmt::skip] // One row an attack.
pub fn attacks() -> Vec<Attack> {
    vec![
        attack("mknod-disk", "mknod disk b 254 0", If("test -e $WS/disk")).by(But::Root),
        attack("mount", "mkdir m && mount -t tmpfs x m && echo ESCAPED; umount m", Said).by(But::Root),
        attack("remount", "mkdir m && mount --bind $OUT m && echo x > m/new; umount m", OUT_NEW).by(But::Root),
        attack("chroot", "/usr/sbin/chroot / sh -c 'echo ESCAPED'", Said).by(But::Root),
        attack("kernel-setting", "echo 1 > /proc/sys/vm/overcommit_ratio; echo 50 > /proc/sys/vm/overcommit_ratio && echo ESCAPED", Said).by(But::Root),
        attack("kernel-log", "echo x > /dev/kmsg && echo ESCAPED", Said).by(But::Root),
        attack("open-by-handle", python!("h=ctypes.create_string_buffer(struct.pack('Ii',128,0)+bytes(128));m=ctypes.c_int();libc.name_to_handle_at(-100,(E['OUT']+'/victim').encode(),h,ctypes.byref(m),0);f=libc.open_by_handle_at(os.open('/',0),h,os.O_WRONLY);os.write(f,b'X')"), VICTIM).by(But::Root),
        attack("hostname", python!("n=socket.gethostname().encode();r=libc.sethostname(n,len(n));print('ESCAPED' if r==0 else 'no')"), Said).by(But::Root),
        attack("user-namespace", "unshare -r true && echo ESCAPED", Said),
        attack("user-namespace-clone", python!("r=libc.syscall(56,0x10000000|17,0,0,0,0)\nif r==0: os._exit(0)\nprint('ESCAPED' if r>0 else 'no')"), Said).x86_64(),
        attack("user-namespace-x32", python!("import platform\nr=libc.syscall(0x40000000|272,0x10000000) if platform.machine()=='x86_64' else -1\nr=libc.unshare(0x10000000) if r<0 else r\nprint('ESCAPED' if r==0 else 'no')"), Said),
        attack("keyring", python!("r=libc.syscall(248,b'user',b'x',b'y',1,-3);print('ESCAPED' if r>0 else 'no')"), Said).x86_64(),
        attack("bpf", python!("r=libc.syscall(321,0,ctypes.create_string_buffer(struct.pack('IIII',2,4,4,1)+bytes(112)),128);print('ESCAPED' if r>=0 else 'no')"), Said).x86_64().by(But::Root),
        attack("network-namespace", python!("r=libc.unshare(0x40000000);print('ESCAPED' if r==0 else 'no')"), Said).by(But::Root),
        attack("user-namespace-new-call", python!("r=libc.syscall(435,ctypes.create_string_buffer(struct.pack('QQQQQ',0x10000000,0,0,0,17)+bytes(48)),88)\nif r==0: os._exit(0)\nprint('ESCAPED' if r>0 else 'no')"), Said),
        attack("pivot-root", python!("r=libc.syscall(155,b'/missing',b'/missing');print('ESCAPED' if ctypes.get_errno()==2 else 'no')"), Said).by(But::Root).x86_64(),
        attack("unmount", python!("libc.umount2(b'/missing',2);print('ESCAPED' if ctypes.get_errno()==2 else 'no')"), Said).by(But::Root),
        attack("swap-off", python!("libc.swapoff(b'/missing');print('ESCAPED' if ctypes.get_errno()==2 else 'no')"), Said).by(But::Root),
        attack("accounting", python!("libc.acct(b'/missing/x');print('ESCAPED' if ctypes.get_errno()==2 else 'no')"), Said).by(But::Root),
        attack("foreign-namespace", python!("print('ESCAPED' if libc.setns(os.open('/proc/%s/ns/uts'%E['VICTIM'],0),0)==0 else 'no')"), Said).by(But::Root),
        attack("mount-tree", python!("print('ESCAPED' if libc.syscall(428,-100,b'/',1)>=0 else 'no')"), Said).by(But::Root),
        attack("mount-tree-attributes", python!("libc.syscall(467,-100,b'/missing',1,struct.pack('QQQQ',1,0,0,0),32);print('ESCAPED' if ctypes.get_errno()==2 else 'no')"), Said).by(But::Root),
        attack("mount-new-call", python!("print('ESCAPED' if libc.syscall(430,b'tmpfs',0)>=0 else 'no')"), Said).by(But::Root),
        attack("mount-attributes", python!("libc.syscall(442,-100,b'/missing',0,struct.pack('QQQQ',1,0,0,0),32);print('ESCAPED' if ctypes.get_errno()==2 else 'no')"), Said).by(But::Root),
        attack("clock", python!("import time;t=time.time_ns();print('ESCAPED' if libc.clock_settime(0,struct.pack('ll',t//10**9,t%10**9))==0 else 'no')"), Said).by(But::Root),
        attack("domain-name", python!("b=ctypes.create_string_buffer(64);libc.getdomainname(b,64);print('ESCAPED' if libc.setdomainname(b,len(b.value))==0 else 'no')"), Said).by(But::Root),
        attack("kernel-messages", python!("print('ESCAPED' if libc.klogctl(3,ctypes.create_string_buffer(64),64)>=0 else 'no')"), Said).by(But::Root),
        attack("performance-counters", python!("print('ESCAPED' if libc.syscall(298,ctypes.create_string_buffer(struct.pack('IIQ',1,128,0)+bytes(24)+struct.pack('Q',0x61)+bytes(80)),0,-1,-1,0)>=0 else 'no')"), Said).x86_64(),
        attack("page-faults", python!("print('ESCAPED' if libc.syscall(323,1)>=0 else 'no')"), Said).x86_64(),
        attack("ports", python!("print('ESCAPED' if libc.iopl(3)==0 else 'no')"), Said).by(But::Root).x86_64(),
        attack("kernel-module", python!("libc.syscall(175,0,0,b'');print('ESCAPED' if ctypes.get_errno() in (8,14,22) else 'no')"), Said).by(But::Root).x86_64(),
        attack("core-pattern", "exec 3<>/proc/sys/kernel/core_pattern && echo ESCAPED", Said).by(But::Root),
        attack("system-request", python!("os.open('/proc/sysrq-trigger',os.O_WRONLY);print('ESCAPED')"), Said).by(But::Root),
        attack("control-group", "mkdir /sys/fs/cgroup/escape-$VICTIM", If("test -e /sys/fs/cgroup/escape-$VICTIM && rmdir /sys/fs/cgroup/escape-$VICTIM")).by(But::Root),
    ]
}
