#[test]
fn dump_kimi() {
    for id in ["kimi-code", "kimi-cli"] {
        for (size, name) in crate::harnesses::Size::ALL {
            let mut cx = crate::harnesses::tests::context(size);
            cx.instructions = crate::harnesses::tests::instructions();
            cx.interactive = std::env::var("ASK").is_ok();
            let h = crate::harnesses::by_id(id).unwrap();
            let start = h.begin(&cx);
            println!("##### {id} {name}\n{}\n", start.system);
            let names: Vec<_> = start.tools.iter().map(|t| t.name.clone()).collect();
            println!("{names:?} {:?}", start.state);
        }
    }
}
