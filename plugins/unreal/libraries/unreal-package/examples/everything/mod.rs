//! Calls every reader of this crate on a file.

use unreal_package::{Index, Package, difference, listing};

/// Reads everything in a file. Returns whether the file could be read as a package.
pub fn read(file: &[u8]) -> bool {
    let Ok(package) = Package::read(file) else { return false };
    let name = "/Game/X";
    package.markdown(name, 1 << 18);
    package.thumbnails();
    for graph in package.graphs(name) {
        graph.markdown(1 << 16);
    }
    package.pseudo_code(name);
    package.outline(name);
    package.contents(name);
    package.state_tree(name);
    difference(&package, &package, name);
    listing(&package, name);
    for position in 0..package.header.exports.len().min(200) {
        let index = Index::of_export(position);
        package.actors(index);
        if package.header.outer(index).0 == 0 {
            package.t3d(index, name, 1 << 18);
        }
    }
    true
}
