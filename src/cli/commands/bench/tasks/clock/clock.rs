//! Times of a day.

/// Reads "7:05" or "23:59" as minutes since midnight; None for anything else.
pub fn parse(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let hours: u32 = hours.parse().unwrap();
    let minutes: u32 = minutes.parse().unwrap();
    Some(hours * 60 + minutes)
}

/// How many minutes it is from one time to the next; the second may be on the next day.
pub fn between(from: &str, to: &str) -> Option<u32> {
    let (from, to) = (parse(from)?, parse(to)?);
    Some(to - from)
}
