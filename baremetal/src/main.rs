//! The image: the gateway as the only program of a PC. See [`baremetal`].
#![cfg_attr(target_os = "none", no_std, no_main)]

#[cfg(target_os = "none")]
extern crate alloc;

#[cfg(all(target_os = "none", target_arch = "x86_64"))]
mod machine;

#[cfg(all(target_os = "none", target_arch = "arm"))]
mod microcontroller;

#[cfg(not(target_os = "none"))]
fn main() {
    eprintln!(
        "this is an image that runs without an operating system: build it with \
         --target x86_64-unknown-none, or let `cangate image` do it"
    );
    std::process::exit(2);
}
