//! Writes the seed files for fuzzing: `corpus DIR`, usually `fuzz/corpus/read`.
//!
//! One package of every version that the writer supports, a Git LFS pointer, and a truncated
//! package.

use std::{error::Error, fs, path::Path};
use unreal_package::writer;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args().nth(1).ok_or("corpus DIR")?;
    let folder = Path::new(&folder);
    fs::create_dir_all(folder)?;
    for (number, profile) in writer::PROFILES.iter().enumerate() {
        let mut draft = writer::blueprint(*profile, "/Game/X", "/Script/Engine.Actor");
        let bytes = draft.soft("/Game/Y").thumbnail("X", b"\x89PNG\r\n\x1a\n").bytes();
        if number == 0 {
            fs::write(folder.join("cut-off"), &bytes[..bytes.len() / 2])?;
        }
        fs::write(folder.join(format!("blueprint-{number:02}")), bytes)?;
    }
    fs::write(
        folder.join("lfs-pointer"),
        "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12\n",
    )?;
    Ok(())
}
