//! Prints the difference of two versions of a package: `diff OLD NEW`.

use std::{error::Error, fs};
use unreal_package::{Package, difference};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(old), Some(new)) = (arguments.next(), arguments.next()) else {
        return Err("name two files: diff OLD NEW".into());
    };
    let (old, new) = (fs::read(old)?, fs::read(new)?);
    let found = difference(&Package::read(&old)?, &Package::read(&new)?, "/Game/Package");
    println!("{} changes, {} nodes moved", found.changes.len(), found.moved);
    print!("{}", found.markdown(0, usize::MAX));
    for warning in &found.warnings {
        println!("warning: {warning}");
    }
    Ok(())
}
