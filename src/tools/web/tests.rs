//! Pages as servers send them.

use super::html::readable;
use super::*;

fn markdown(html: &str) -> String {
    readable(html, "https://docs.example.org/guide/start.html", true).0
}

#[test]
fn a_page_becomes_markdown() {
    let html = r#"<!DOCTYPE html><html><head><title> The &amp; guide </title>
<style>p { color: red }</style><script>if (a < b) { alert("</p>") }</script></head><body>
<nav><a href="/">Home</a></nav>
<h1>Install</h1><p>Run <code>cargo&nbsp;add x</code> or see
<a href="../api/?v=2#top">the <b>API</b></a>.<br>Done.</p>
<ul><li>one</li><li><p>two</p><ol><li>deep</li><li>deeper</li></ol></li></ul>
<pre><code class="rs">fn main() {
    println!("&lt;hi&gt;");
}
</code></pre>
<table><tr><th>key</th><th>value</th></tr><tr><td>a</td><td>1</td></tr></table>
<blockquote>quoted</blockquote><img src=x.png alt="a plan"><!-- > <p>no</p> -->
<footer>© nobody</footer></body></html>"#;
    assert_eq!(
        markdown(html),
        "# Install

Run `cargo add x` or see [the API](https://docs.example.org/api/?v=2).
Done.

- one
- two
  1. deep
  2. deeper

```
fn main() {
    println!(\"<hi>\");
}
```

key | value
a | 1

> quoted

[image: a plan]"
    );
    let (text, title) = readable(html, "https://docs.example.org/", false);
    assert_eq!(title.as_deref(), Some("The & guide"));
    assert!(text.starts_with("Install\n\nRun cargo add x or see the API.\nDone.\n\n- one"));
    assert!(!text.contains("```") && text.contains("\n    println!(\"<hi>\");"));
}

#[test]
fn the_main_part_is_what_is_wanted() {
    let words = "What the page is about, in many words. ".repeat(8);
    let html =
        format!("<div>Sign in</div><main><h2>Topic</h2><p>{words}</p></main><div>Related</div>");
    assert_eq!(markdown(&html), format!("## Topic\n\n{}", words.trim()));
    // A main part with nothing in it is none.
    assert_eq!(markdown("<main></main><p>all of it</p>"), "all of it");
    // Nor is a page empty because all of it stands in a form.
    assert_eq!(markdown("<form><p>all of it</p></form>"), "all of it");
}

#[test]
fn broken_markup_is_read_as_far_as_it_goes() {
    for (html, text) in [
        ("a < b && c > d", "a < b && c > d"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<p>never closed <a href='x", "never closed"),
        ("<script>endless", ""),
        ("</ul></pre></a>x", "x"),
        ("<a href=>x</a><a href='#y'>y</a><a href=/z></a>", "xy"),
        ("<", "<"),
        (
            "&#x48;&#105;&bogus; &#0;&#xD800; &",
            "Hi&bogus; &#0;&#xD800; &",
        ),
        ("<p =x/>é<P>ü</P", "é\n\nü"),
    ] {
        assert_eq!(markdown(html), text, "{html}");
    }
    // Long and deep, and never out of bounds.
    let deep = "<ul><li><blockquote><pre><a href=/x>".repeat(20_000);
    assert!(markdown(&deep).len() < 4_000_000);
    let page = include_str!("tests.rs");
    for end in (0..2_000).filter(|end| page.is_char_boundary(*end)) {
        markdown(&page[..end]);
    }
}

#[test]
fn addresses_are_checked_and_encoded() {
    assert_eq!(
        address(" HTTPS://example.org/a b/ü?q=\"1\"#part "),
        Ok("https://example.org/a%20b/%C3%BC?q=%221%22".into())
    );
    for wrong in [
        "example.org",
        "file:///etc/passwd",
        "https://",
        "https://user:secret@example.org/",
        "ftp://example.org",
        "",
    ] {
        assert!(address(wrong).is_err(), "{wrong}");
    }
}

/// RFC 3986, 5.4.1: the examples that matter on the web.
#[test]
fn references_are_resolved() {
    let base = "http://a/b/c/d;p?q";
    for (reference, url) in [
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"),
        ("g#s", "http://a/b/c/g"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("https://h/x", "https://h/x"),
    ] {
        assert_eq!(join(base, reference), url, "{reference}");
    }
}

#[test]
fn a_redirect_stays_on_its_server() {
    let same = [
        ("http://a.org/x", "http://a.org/y"),
        ("http://a.org/", "https://a.org/"),
        ("http://a.org:8080/", "http://A.org:8080/z"),
    ];
    let other = [
        ("https://a.org/", "http://a.org/"),
        ("http://a.org/", "http://a.org:8080/"),
        ("http://a.org/", "https://a.org.evil.example/"),
        ("http://a.org/", "http://127.0.0.1/"),
        ("http://a.org/", "mailto:x@a.org"),
    ];
    for (from, to) in same {
        assert!(same_server(from, to), "{from} {to}");
    }
    for (from, to) in other {
        assert!(!same_server(from, to), "{from} {to}");
    }
}

#[test]
fn old_encodings_are_read() {
    assert_eq!(
        decode(b"gr\xfc\xdfe", "text/plain; charset=ISO-8859-1", false),
        "grüße"
    );
    let page = b"<html><head><meta charset=\"windows-1252\"></head>\x93so\x94";
    assert!(decode(page, "text/html", true).ends_with("“so”"));
    assert_eq!(decode("grüße".as_bytes(), "text/html", true), "grüße");
    assert_eq!(without_controls("a\r\nb\u{1b}[31m\u{0}\tc"), "a\nb[31m\tc");
}

#[test]
fn only_text_is_taken() {
    for kind in [
        "text/html; charset=x",
        "application/json",
        "image/svg+xml",
        "application/ld+json",
    ] {
        assert!(is_text(kind, b"x"), "{kind}");
    }
    for (kind, body) in [
        ("image/png", &b"x"[..]),
        ("application/pdf", b"%PDF"),
        ("", b"a\0b"),
    ] {
        assert!(!is_text(kind, body), "{kind}");
    }
}
