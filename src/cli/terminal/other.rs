//! The console of Windows, as far as it is needed; elsewhere nothing.

use crate::cancel::Cancel;
use std::io;
use std::time::Duration;

/// The console gives whole lines here.
pub const HAS_KEYS: bool = false;

/// Of a line that is not shown, nothing is.
pub const SHOWS_HIDDEN_END: bool = false;

/// Rows and columns, where a shell tells them.
pub fn size() -> Option<(usize, usize)> {
    let told = |name: &str| std::env::var(name).ok()?.parse().ok();
    Some((told("LINES").unwrap_or(0), told("COLUMNS")?))
}

/// Nothing but the read itself can wait for the console here.
pub fn wait_for_line(_: &Cancel) -> bool {
    true
}

pub fn is_gone() -> bool {
    false
}

pub fn read(_: &mut [u8], limit: Duration) -> io::Result<Option<usize>> {
    std::thread::sleep(limit);
    Ok(None)
}

pub fn forget_typed() {}

pub fn marked(_: bool) {}

/// The mode of the console's input.
pub struct Settings(u32);

/// What is typed is shown.
const ENABLE_ECHO_INPUT: u32 = 0x4;

impl Settings {
    pub fn change(change: fn(&mut u32)) -> Option<Self> {
        let found = console::mode()?;
        let mut wanted = found;
        change(&mut wanted);
        console::set_mode(wanted).then_some(Settings(found))
    }

    pub fn to_keys(_: &mut u32) {}

    pub fn to_lines(mode: &mut u32) {
        *mode |= ENABLE_ECHO_INPUT;
    }

    pub fn to_hidden(mode: &mut u32) {
        *mode &= !ENABLE_ECHO_INPUT;
    }

    pub fn put(&self) {
        console::set_mode(self.0);
    }
}

#[cfg(not(windows))]
mod console {
    pub fn mode() -> Option<u32> {
        None
    }

    pub fn set_mode(_: u32) -> bool {
        false
    }
}

/// The three calls of the Windows console that are needed, declared as its header has them.
#[cfg(windows)]
mod console {
    use std::ffi::c_void;

    const STD_INPUT_HANDLE: u32 = -10_i32 as u32;

    #[link(name = "kernel32")]
    unsafe extern "system" {
        fn GetStdHandle(which: u32) -> *mut c_void;
        fn GetConsoleMode(handle: *mut c_void, mode: *mut u32) -> i32;
        fn SetConsoleMode(handle: *mut c_void, mode: u32) -> i32;
    }

    pub fn mode() -> Option<u32> {
        let mut mode = 0;
        // SAFETY: `mode` outlives the call, which fails for a handle that is no console.
        let got = unsafe { GetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), &mut mode) };
        (got != 0).then_some(mode)
    }

    pub fn set_mode(mode: u32) -> bool {
        // SAFETY: takes no pointers of ours, and fails for a handle that is no console.
        unsafe { SetConsoleMode(GetStdHandle(STD_INPUT_HANDLE), mode) != 0 }
    }
}

pub fn guard(_: &[i32]) -> io::Result<()> {
    Ok(())
}

pub fn leave() {}

pub fn suspend() {}

pub fn was_continued() -> bool {
    false
}
