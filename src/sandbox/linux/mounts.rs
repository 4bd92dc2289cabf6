//! The view of the disk inside the namespaces: everything read-only, then the exceptions.

use super::inside::limit_ids;
use super::supervisor::failed;
use super::sys;
use crate::sandbox::plan::Plan;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The devices that a command may use. All are harmless for everybody.
pub const DEVICES: [&str; 6] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
];

/// Parts of `/proc` where root could change the whole system.
const KERNEL: [&str; 4] = ["/proc/sys", "/proc/sysrq-trigger", "/proc/irq", "/proc/bus"];

const PLAIN: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV;

/// Builds the view in a new mount namespace. The supervisor stays in the old one.
pub fn build(plan: &Plan) -> Result<(), String> {
    isolate().map_err(|e| failed("make its own mounts", &e))?;
    let before = writable_mounts();

    for home in &plan.hidden {
        let shown = plan.shown.iter().filter(|s| s.starts_with(home));
        cover(home, shown.map(PathBuf::as_path))
            .and_then(|()| sys::set_read_only(home, true, true))
            .map_err(|e| failed(&format!("hide {}", home.display()), &e))?;
    }
    private_devices().map_err(|e| failed("make its own /dev", &e))?;

    let whole_disk = plan.writable.iter().any(|w| w.parent().is_none());
    if !whole_disk {
        sys::set_read_only(Path::new("/"), true, true)
            .map_err(|e| failed("make the disk read-only", &e))?;
    }
    for (path, writable) in layers(plan) {
        let step = |e| failed(&format!("set the rights of {}", path.display()), &e);
        sys::bind(&path, &path).map_err(step)?;
        if writable {
            open_up(&path, &before).map_err(step)?;
        } else {
            sys::set_read_only(&path, true, true).map_err(step)?;
        }
    }
    own_kernel_files(plan).map_err(|e| failed("make its own /proc and terminals", &e))
}

/// Enters a mount namespace whose changes stay in it.
pub fn isolate() -> io::Result<()> {
    sys::unshare(libc::CLONE_NEWNS)?;
    sys::make_mounts_private()
}

/// Everything that becomes a mount of its own, outer ones first, and whether it may be written.
///
/// A mount point cannot be renamed or removed. So every folder between a writable folder and
/// something in it that needs protection becomes one too; otherwise a command could move a parent
/// away and build its own tree at the old place.
fn layers(plan: &Plan) -> BTreeMap<PathBuf, bool> {
    let mut layers = BTreeMap::new();
    let guarded = plan.sealed.iter().filter(|s| s.symlink_metadata().is_ok());
    let deep = [&plan.writable, &plan.sealed, &plan.watched, &plan.hidden];
    let deep = deep.into_iter().flatten();
    for path in deep {
        let between = path.ancestors().skip(1).take_while(|above| {
            let is_in = |w: &PathBuf| above.starts_with(w) && above != w;
            plan.writable.iter().any(is_in)
        });
        // The exact roles, below, win over this one.
        layers.extend(between.map(|above| (above.to_owned(), true)));
    }
    layers.extend(plan.writable.iter().map(|w| (w.clone(), true)));
    layers.extend(guarded.map(|s| (s.clone(), false)));
    // What lies in a sealed folder stays sealed, unless a lift names it.
    let sealed: Vec<_> = plan.sealed.iter().collect();
    layers.retain(|path, writable| {
        !*writable || plan.writable.contains(path) || !sealed.iter().any(|s| path.starts_with(s))
    });
    layers.retain(|path, _| {
        path.parent().is_some() && !plan.hidden.iter().any(|h| path.starts_with(h))
    });
    layers
}

/// Makes a bound folder writable, as far as it and the mounts in it were so before.
fn open_up(path: &Path, before: &[PathBuf]) -> io::Result<()> {
    let own = before
        .iter()
        .filter(|m| path.starts_with(m))
        .max_by_key(|m| m.as_os_str().len());
    if own.is_some() {
        sys::set_read_only(path, false, false)?;
    }
    for inner in before.iter().filter(|m| m.starts_with(path) && *m != path) {
        // One that is covered or gone by now stays as it is.
        let _ = sys::set_read_only(inner, false, false);
    }
    Ok(())
}

/// The mount points that are writable now. Later lines of the table lie over earlier ones.
fn writable_mounts() -> Vec<PathBuf> {
    parse_mounts(&fs::read_to_string("/proc/self/mountinfo").unwrap_or_default())
}

fn parse_mounts(table: &str) -> Vec<PathBuf> {
    let mut mounts = BTreeMap::new();
    for line in table.lines() {
        let mut fields = line.split(' ').skip(4);
        if let (Some(at), Some(options)) = (fields.next(), fields.next()) {
            let writable = options.split(',').any(|o| o == "rw");
            mounts.insert(unescape(at), writable);
        }
    }
    mounts
        .into_iter()
        .filter_map(|(at, writable)| writable.then_some(at))
        .collect()
}

/// A path of the mount table, where white space and backslashes are three octal digits.
fn unescape(field: &str) -> PathBuf {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = (*first == b'\\').then(|| after.get(..3)).flatten();
        let code = code
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

/// Lays an empty folder over `at`, in which only `keep` still shows.
fn cover<'a>(at: &Path, keep: impl Iterator<Item = &'a Path>) -> io::Result<()> {
    // Descriptors reach what is kept after the cover lies over its path.
    let keep: Vec<(&Path, File)> = keep
        .filter_map(|path| {
            let file = File::options()
                .read(true)
                .custom_flags(libc::O_PATH)
                .open(path);
            file.ok().map(|file| (path, file))
        })
        .collect();
    sys::mount_new("tmpfs", at, PLAIN, "mode=755,size=64k")?;
    for (path, file) in keep {
        if file.metadata()?.is_dir() {
            fs::create_dir_all(path)?;
        } else {
            File::create(path)?;
        }
        let source = format!("/proc/self/fd/{}", file.as_raw_fd());
        sys::bind(Path::new(&source), path)?;
    }
    Ok(())
}

/// A `/dev` with the harmless devices and room for terminals: no disks, no memory, no shared queues.
fn private_devices() -> io::Result<()> {
    let dev = Path::new("/dev");
    cover(dev, DEVICES.iter().map(Path::new))?;
    for folder in ["pts", "shm"] {
        fs::create_dir(dev.join(folder))?;
    }
    for (name, target) in [
        ("ptmx", "pts/ptmx"),
        ("fd", "/proc/self/fd"),
        ("stdin", "/proc/self/fd/0"),
        ("stdout", "/proc/self/fd/1"),
        ("stderr", "/proc/self/fd/2"),
    ] {
        std::os::unix::fs::symlink(target, dev.join(name))?;
    }
    Ok(())
}

/// Mounts what a command may write apart from the disk, and seals the settings of the kernel.
fn own_kernel_files(plan: &Plan) -> io::Result<()> {
    if !plan.read_only {
        sys::mount_new("tmpfs", Path::new("/dev/shm"), PLAIN, "mode=1777,size=512m")?;
    }
    sys::mount_new(
        "devpts",
        Path::new("/dev/pts"),
        libc::MS_NOSUID | libc::MS_NOEXEC,
        "newinstance,mode=620,ptmxmode=666",
    )?;
    // A container may refuse this one. The outer view then stays: nothing in it can be written,
    // and processes outside cannot be looked into.
    let proc = Path::new("/proc");
    if sys::mount_new("proc", proc, PLAIN | libc::MS_NOEXEC, "").is_ok() {
        limit_ids();
    }
    for path in KERNEL.iter().map(Path::new).filter(|p| p.exists()) {
        sys::bind(path, path)?;
        sys::set_read_only(path, true, true)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_table_is_read_with_its_escapes_and_overlays() {
        let table = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/vda rw\n\
            23 22 0:5 / /a\\040b rw - tmpfs t rw\n\
            24 22 0:6 / /data rw - tmpfs t rw\n\
            25 24 0:7 / /data ro,nosuid - tmpfs t rw\n";
        assert_eq!(
            parse_mounts(table),
            [PathBuf::from("/"), PathBuf::from("/a b")]
        );
    }

    #[test]
    fn parents_of_guarded_places_are_pinned() {
        let dir = tempfile::tempdir().unwrap();
        let temp = dir.path().canonicalize().unwrap();
        let root = temp.join("a/b/work");
        fs::create_dir_all(root.join(".git")).unwrap();
        let plan = Plan {
            writable: vec![temp.clone(), root.clone()],
            sealed: vec![root.join(".agents"), root.join(".git")],
            ..Plan::unfenced()
        };
        let expected = [
            (temp.clone(), true),
            (temp.join("a"), true),
            (temp.join("a/b"), true),
            (root.clone(), true),
            (root.join(".git"), false),
        ];
        assert_eq!(layers(&plan).into_iter().collect::<Vec<_>>(), expected);
    }
}
