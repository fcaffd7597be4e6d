//! Calls every reader of this crate on a file.

use unreal_package::{Header, Index, Package, difference, listing};

/// Reads everything in a file. Returns whether the file could be read as a package, or as a cooked package that states
/// no versions.
pub fn read(file: &[u8]) -> bool {
    let Ok(package) = Package::read(file) else { return read_cooked(file) };
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

/// Reads the header of a cooked package.
fn read_cooked(file: &[u8]) -> bool {
    let Ok(cooked) = Header::read_cooked(file) else { return false };
    let header = &cooked.header;
    for position in 0..header.exports.len() {
        let object = Index::of_export(position);
        header.path_within(object);
        header.class_path(object, "/Game/X");
    }
    !cooked.engines.is_empty()
}
