#[path = "clock.rs"]
mod clock;

fn main() {
    assert_eq!(clock::parse("0:00"), Some(0));
    assert_eq!(clock::parse("23:59"), Some(1439));
    for bad in ["", ":", "12", "12:", ":30", "12:60", "25:00", "-1:00", "1:2:3"] {
        assert_eq!(clock::parse(bad), None, "{bad}");
    }
    assert_eq!(clock::between("10:00", "10:00"), Some(0));
    assert_eq!(clock::between("10:00", "9:59"), Some(1439));
    assert_eq!(clock::between("10:00", "ten"), None);
    println!("{}", std::env::args().nth(1).unwrap_or_default());
}
