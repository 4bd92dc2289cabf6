//! (room: serve)
