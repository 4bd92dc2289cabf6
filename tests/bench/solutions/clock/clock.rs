pub fn parse(text: &str) -> Option<u32> {
    let (hours, minutes) = text.split_once(':')?;
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)
}

pub fn between(from: &str, to: &str) -> Option<u32> {
    let (from, to) = (parse(from)?, parse(to)?);
    Some((to + 24 * 60 - from) % (24 * 60))
}
