//! The data of the families of bundled plugins. The host's own code names no plugin: the build script collects
//! this data from the folders `plugins/FAMILY`.

include!(concat!(env!("OUT_DIR"), "/families.rs"));
