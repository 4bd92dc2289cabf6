// Run with: rustc --test -o test test.rs && ./test

mod clock;

use clock::{between, parse};

#[test]
fn times_are_read() {
    assert_eq!(parse("7:05"), Some(425));
    assert_eq!(parse("24:00"), None);
    assert_eq!(parse("9:60"), None);
    assert_eq!(parse("x:10"), None);
}

#[test]
fn the_next_day_counts() {
    assert_eq!(between("8:00", "9:30"), Some(90));
    assert_eq!(between("23:00", "1:00"), Some(120));
}
