//! What the families of bundled plugins bring besides their components. The host's own code names no
//! plugin: all of this is data of the folders `plugins/FAMILY`, collected by the build script.

include!(concat!(env!("OUT_DIR"), "/families.rs"));
