//! Reads a file as a package: its Markdown, thumbnails, graphs, actors and T3D.

use unreal_package::{Index, Package};

/// Reads all these parts of a file. Returns whether the file could be read as a package.
pub fn read(file: &[u8]) -> bool {
    let Ok(package) = Package::read(file) else { return false };
    package.markdown("/Game/X", 1 << 18);
    package.thumbnails();
    for graph in package.graphs("/Game/X") {
        graph.markdown(1 << 16);
    }
    for position in 0..package.header.exports.len().min(200) {
        let index = Index::of_export(position);
        package.actors(index);
        if package.header.outer(index).0 == 0 {
            package.t3d(index, "/Game/X", 1 << 18);
        }
    }
    true
}
