//! (room: project)
