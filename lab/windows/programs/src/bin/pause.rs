//! Does nothing, for ever: the program of the lab's pause image.
//!
//! The lab's container shim does not start it (a sandbox needs no process);
//! it is there for those who run the image as a container.

use std::thread;

fn main() {
    loop {
        thread::park();
    }
}
