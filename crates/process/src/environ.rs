//! Our own environment as others can see it: the kernel shows the block that a program was started with to its owner
//! and to root (`/proc/PID/environ`). Credentials are taken out of it as soon as they have been read.

use crate::scrub;
use std::ffi::CStr;

#[expect(unsafe_code, reason = "the block has no safe interface")]
unsafe extern "C" {
    static mut environ: *mut *mut libc::c_char;
}

/// Overwrites the values of variables that look like credentials, and forgets the variables. To be called once, by the
/// main thread, while there is no other; what is still needed has been copied before.
pub fn hide_credentials() {
    // SAFETY: there is one thread, so nobody reads or changes the list meanwhile. Its entries are texts that end with
    // NUL, in memory that is ours to write, and the list ends with a null pointer. Nothing is written past an entry's
    // own end, and entries only move towards the beginning of the list.
    #[expect(unsafe_code, reason = "the block has no safe interface")]
    unsafe {
        let mut from = environ;
        if from.is_null() {
            return;
        }
        let mut to = from;
        // One buffer for all names: this runs at every start.
        let mut upper = String::new();
        while !(*from).is_null() {
            let entry = *from;
            let bytes = CStr::from_ptr(entry).to_bytes();
            let name = bytes.iter().position(|byte| *byte == b'=').unwrap_or(bytes.len());
            upper.clear();
            upper.extend(bytes[..name].iter().map(|byte| char::from(byte.to_ascii_uppercase())));
            if scrub::is_sensitive_upper(&upper) {
                std::ptr::write_bytes(entry, 0, bytes.len());
            } else {
                *to = entry;
                to = to.add(1);
            }
            from = from.add(1);
        }
        *to = std::ptr::null_mut();
    }
}
