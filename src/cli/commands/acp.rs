//! `interpreter acp`: an editor is served.

use crate::cli::Failure;
use crate::cli::args::Options;
use crate::cli::signals::Signals;
use crate::serve;

/// Serves the editor on standard input and output until it leaves.
///
/// # Errors
/// One sentence, before anything is served.
pub fn run(options: &Options) -> Result<u8, Failure> {
    let signals = Signals::install(true).map_err(|e| format!("signals cannot be handled: {e}"))?;
    serve::acp::run(options, &signals)
}
