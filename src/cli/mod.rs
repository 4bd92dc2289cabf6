//! (room: cli)
