//! Sockets: the network, and the doors of daemons on this machine.

use super::Sign::{Called, Reached, Said};
use super::{Attack, But, attack, python};

#[rustfmt::skip] // One row an attack.
pub fn attacks() -> Vec<Attack> {
    vec![
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
        attack("dns", python!("q=b'\\x12\\x34\\x01\\x00\\x00\\x01'+bytes(6)+b'\\x06secret\\x07example\\x03com\\x00\\x00\\x01\\x00\\x01';socket.socket(2,2).sendto(q,('127.0.0.1',int(E['UDP'])))"), Reached),
        attack("allowed-command", python!("import urllib.request as u;u.urlopen('http://127.0.0.1:%s/secret'%E['TCP'],timeout=1)"), Called),
        attack("git-transport", "timeout 1 git -c protocol.allow=always ls-remote git://127.0.0.1:$TCP/secret", Called),
        attack("tcp-by-curl", "curl -s -m 1 http://127.0.0.1:$TCP/secret", Called),
        attack("tcp-mapped", python!("s=socket.socket(10,1);s.settimeout(2);s.connect(('::ffff:127.0.0.1',int(E['TCP'])));print('ESCAPED')"), Said),
        attack("tcp-fast-open", python!("s=socket.socket(2,1);s.sendto(b'x',0x20000000,('127.0.0.1',int(E['TCP'])))"), Called),
        attack("listening", python!("s=socket.socket(2,1);s.bind(('127.0.0.1',0));s.listen();s.settimeout(2);print(s.getsockname()[1],file=open('port','w'));s.accept();print('ESCAPED')"), Said).meanwhile("bash -c 'for i in 1 2 3 4 5 6 7 8 9; do read p < $WS/port && exec 3<>/dev/tcp/127.0.0.1/$p && break; sleep 0.1; done'"),
        attack("abstract", python!("s=socket.socket(1,1);s.connect('\\0open-interpreter-'+E['VICTIM']);print('ESCAPED')"), Said),
        attack("raw-packets", python!("socket.socket(2,3,1);print('ESCAPED')"), Said).by(But::Root),
        attack("link-layer", python!("socket.socket(17,3,0);print('ESCAPED')"), Said).by(But::Root),
        attack("key-management", python!("socket.socket(15,3,2);print('ESCAPED')"), Said).by(But::Root),
    ]
}
