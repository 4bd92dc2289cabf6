//! A proxy on this machine that makes a scripted server one that is far.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The heads of requests, as they came.
pub type Heads = Arc<Mutex<Vec<String>>>;

pub fn seen(heads: &Heads) -> Vec<String> {
    heads.lock().expect("not poisoned").clone()
}

/// Reads one request and gives its head; `None` at the end of the connection.
pub fn request(stream: &mut impl Read) -> Option<String> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        if let Some(end) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let length = head.lines().find_map(|line| {
                let lower = line.to_lowercase();
                lower
                    .strip_prefix("content-length: ")?
                    .parse::<usize>()
                    .ok()
            });
            if bytes.len() >= end + 4 + length.unwrap_or(0) {
                return Some(head);
            }
        }
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return None,
        }
    }
}

/// A server on this machine, each connection of which has a thread. Gives its port.
pub fn serve(each: impl Fn(TcpStream) + Send + Sync + 'static) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("an address").port();
    let each = Arc::new(each);
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let each = each.clone();
            thread::spawn(move || each(client));
        }
    });
    port
}

/// Passes on what either of the two says, until one has ended.
pub fn join(mut client: TcpStream, mut server: TcpStream) -> Option<()> {
    let (mut from, mut to) = (client.try_clone().ok()?, server.try_clone().ok()?);
    thread::spawn(move || {
        let _ = std::io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Both);
    });
    let _ = std::io::copy(&mut server, &mut client);
    client.shutdown(Shutdown::Both).ok()
}

/// A proxy that connects every name to `port` of this machine. With `password`, who does not give it
/// is sent away.
pub fn connect(port: u16, password: Option<&'static str>) -> (u16, Heads) {
    connect_by(move |_| Some(port), password)
}

/// The same with a port for each name; where there is none, it does not connect.
pub fn connect_by(
    port_of: impl Fn(&str) -> Option<u16> + Send + Sync + 'static,
    password: Option<&'static str>,
) -> (u16, Heads) {
    let heads = Heads::default();
    let all = heads.clone();
    let way = move |mut client: TcpStream| -> Option<()> {
        let head = request(&mut client)?;
        all.lock().expect("not poisoned").push(head.clone());
        let lower = head.to_lowercase();
        let allowed = password.is_none_or(|p| {
            lower.contains(&format!("proxy-authorization: basic {p}").to_lowercase())
        });
        if !allowed {
            let no = "HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n";
            return client.write_all(no.as_bytes()).ok();
        }
        let name = head.split([' ', ':']).nth(1)?;
        let server = TcpStream::connect(("127.0.0.1", port_of(name)?)).ok()?;
        client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").ok()?;
        join(client, server)
    };
    let own = serve(move |client| {
        let _ = way(client);
    });
    (own, heads)
}
