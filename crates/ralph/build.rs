//! Tells the linker of a `dist` build which functions to place side by side, and to keep one of those that are the same
//! (docs/speed.md, "Memory" and "Size").
//!
//! Only where the linker is known to take the option: the one that Rust brings for this target. Whoever has chosen another
//! gets the program without both.

#![expect(clippy::disallowed_methods, reason = "this is how a build script is told and tells")]

use std::env::var;

const ORDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/text-order/order.txt");

fn main() {
    println!("cargo::rerun-if-changed={ORDER}");
    // Of our profiles only `dist` optimises this package for size.
    let is_dist = var("OPT_LEVEL").is_ok_and(|level| level == "z");
    let is_known_target = var("TARGET").is_ok_and(|target| target == "x86_64-unknown-linux-gnu");
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    let is_own_linker = var("RUSTC_LINKER").is_err() && !flags.contains("link");
    if is_dist && is_known_target && is_own_linker {
        // Not by `-Wl,`, which takes a path apart at its commas.
        for word in [&format!("--symbol-ordering-file={ORDER}"), "--no-warn-symbol-ordering", "--icf=all"] {
            println!("cargo::rustc-link-arg-bins=-Xlinker");
            println!("cargo::rustc-link-arg-bins={word}");
        }
    }
}
