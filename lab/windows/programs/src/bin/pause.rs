//! Sleeps forever: the entry point of the lab's pause image.
//!
//! The lab's container shim does not start it, because a sandbox needs no
//! process; it serves those who run the image as a container.

use std::thread;

fn main() {
    loop {
        thread::park();
    }
}
