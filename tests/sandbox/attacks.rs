//! Ways out of the fence that must be shut, tried through the real binary.

#[path = "attacks/files.rs"]
mod files;
#[path = "attacks/network.rs"]
mod network;
#[path = "attacks/processes.rs"]
mod processes;
#[path = "attacks/protected.rs"]
mod protected;
#[path = "attacks/system.rs"]
mod system;

use crate::world::{Form, World, is_root, soon};
use Sign::{Called, Hurt, If, Reached, Said};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How one sees that an attack succeeded.
enum Sign {
    /// This shell condition holds outside afterwards.
    If(&'static str),
    /// The attack itself says `ESCAPED`.
    Said,
    /// A datagram socket or terminal outside got something.
    Reached,
    /// Somebody connected to the server outside.
    Called,
    /// The process outside is gone.
    Hurt,
}

/// Where an attack is known to succeed, or cannot be tried.
#[derive(Clone, Copy, PartialEq, Eq)]
enum But {
    /// It must always fail.
    Never,
    /// It works without namespaces; the program calls this tier partial, for it among others.
    Partial,
    /// It takes root to try.
    Root,
}

/// One row: what it is called, the command, and what would be an escape.
struct Attack {
    name: &'static str,
    script: &'static str,
    sign: Sign,
    but: But,
    /// A script that is run outside before.
    before: &'static str,
    /// A script that is run outside at the same time.
    meanwhile: &'static str,
    /// The call numbers in it are those of x86_64.
    x86_64: bool,
}

const fn attack(name: &'static str, script: &'static str, sign: Sign) -> Attack {
    Attack {
        name,
        script,
        sign,
        but: But::Never,
        before: "",
        meanwhile: "",
        x86_64: false,
    }
}

const OUT_NEW: Sign = If("test -e $OUT/new");
const VICTIM: Sign = If("! grep -q '^precious$' $OUT/victim");

/// A line of Python with the modules, system calls and the world's own key that attacks need.
macro_rules! python {
    ($code:literal) => {
        concat!(
            "/usr/bin/python3 - <<'EOF'\n",
            "import os,sys,socket,ctypes,fcntl,struct,mmap\n",
            "E=os.environ\nKEY=0x5e000000+int(E['VICTIM'])\nlibc=ctypes.CDLL(None,use_errno=True)\n",
            $code,
            "\nEOF"
        )
    };
}
use python;

/// All of them, class by class.
fn attacks() -> Vec<(&'static str, Attack)> {
    let classes = [
        ("files", files::attacks()),
        ("protected", protected::attacks()),
        ("network", network::attacks()),
        ("processes", processes::attacks()),
        ("system", system::attacks()),
    ];
    let all = classes.into_iter();
    all.flat_map(|(class, attacks)| attacks.into_iter().map(move |a| (class, a)))
        .filter(|(_, attack)| attack.applies())
        .collect()
}

impl Attack {
    const fn x86_64(self) -> Self {
        Self {
            x86_64: true,
            ..self
        }
    }

    const fn by(self, but: But) -> Self {
        Self { but, ..self }
    }

    const fn with(self, before: &'static str) -> Self {
        Self { before, ..self }
    }

    const fn meanwhile(self, meanwhile: &'static str) -> Self {
        Self { meanwhile, ..self }
    }

    fn applies(&self) -> bool {
        (is_root() || self.but != But::Root) && (cfg!(target_arch = "x86_64") || !self.x86_64)
    }

    fn may_escape(&self, form: Form) -> bool {
        form == Form::Partial && self.but == But::Partial
    }

    /// Runs it in a world of its own. True when it got out, and what it said.
    fn escapes(&self, form: Form) -> (bool, String) {
        let mut world = World::new();
        if !self.before.is_empty() {
            let (done, said) = world.unfenced(self.before);
            assert!(done, "{}: {said}", self.name);
        }
        let output = std::thread::scope(|scope| {
            if !self.meanwhile.is_empty() {
                scope.spawn(|| world.unfenced(self.meanwhile));
            }
            match form {
                Form::Control => world.unfenced(self.script).1,
                _ => world.by_binary(form, self.script).1,
            }
        });
        let out = match self.sign {
            If(condition) => world.unfenced(condition).0,
            Said => output.contains("ESCAPED"),
            Reached => world.was_reached(),
            Called => world.was_called(),
            Hurt => soon(|| world.victim_is_hurt()),
        };
        (out, output)
    }
}

/// Runs every attack in a form, several at once; gives class, name and output of those that got
/// out and of those that did not.
fn sorted(form: Form) -> [Vec<(&'static str, &'static str, String)>; 2] {
    const AT_ONCE: usize = 4;
    let all = attacks();
    let next = AtomicUsize::new(0);
    let results = Mutex::new([Vec::new(), Vec::new()]);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((class, attack)) = all.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (out, output) = attack.escapes(form);
                    let known = out && attack.may_escape(form);
                    if !known {
                        let at = usize::from(!out);
                        results.lock().unwrap()[at].push((*class, attack.name, output));
                    }
                }
            });
        }
    });
    let results = results.into_inner().unwrap();
    eprintln!(
        "{form:?}: {} got out, {} did not, {} known gaps",
        results[0].len(),
        results[1].len(),
        all.len() - results[0].len() - results[1].len()
    );
    results
}

fn nothing_escapes(form: Form) {
    if World::new().sandbox(form).is_some() {
        let [out, _] = sorted(form);
        assert!(out.is_empty(), "{form:?}: {out:#?}");
    }
}

#[test]
fn there_are_enough_attacks_with_names_of_their_own() {
    let all = attacks();
    let names: std::collections::BTreeSet<_> = all.iter().map(|(_, a)| a.name).collect();
    assert_eq!(names.len(), all.len());
    assert!(all.len() >= 90, "{}", all.len());
}

#[test]
fn attacks_work_without_a_sandbox() {
    // A machine may be hardened against some of these itself, or lack what they go for.
    const MAY_BE_HARDENED: [&str; 18] = [
        "file-flags",
        "io-uring-is-shut",
        "user-namespace",
        "user-namespace-clone",
        "user-namespace-new-call",
        "user-namespace-x32",
        "ptrace",
        "packet-or-vsock",
        "hard-link-in",
        "accounting",
        "control-group",
        "kernel-module",
        "key-management",
        "page-faults",
        "performance-counters",
        "ports",
        "system-request",
        "git-unmounted-in-namespace",
    ];
    let [_, tame] = sorted(Form::Control);
    let unexpected: Vec<_> = tame
        .iter()
        .filter(|(_, name, _)| !MAY_BE_HARDENED.contains(name))
        .collect();
    eprintln!("stopped by this machine itself: {tame:?}");
    assert!(unexpected.is_empty(), "{unexpected:#?}");
}

#[test]
fn no_attack_leaves_the_full_fence() {
    nothing_escapes(Form::Auto);
}

#[test]
fn without_namespaces_only_the_known_gaps_are_open() {
    nothing_escapes(Form::Partial);
}

#[test]
fn no_attack_leaves_the_read_only_fence() {
    nothing_escapes(Form::ReadOnly);
}
