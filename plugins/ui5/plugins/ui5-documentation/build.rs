//! Packs the project's own guides, and embeds this pack and those in `plugins/ui5/resources/documentation`.

#[allow(dead_code, unused_qualifications, reason = "the build uses a part of the plugin's module")]
#[path = "src/markdown.rs"]
mod markdown;
#[allow(dead_code, unused_qualifications, reason = "the build uses a part of the plugin's module")]
#[path = "src/pack/mod.rs"]
mod pack;
#[allow(dead_code, reason = "the build uses a part of the plugin's module")]
#[path = "src/words.rs"]
mod words;

use pack::{
    About,
    write::{Page, pack},
};
use std::{
    env,
    error::Error,
    fs,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn Error>> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").ok_or("cargo sets it")?);
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("cargo sets it")?);
    let resources = here.join("../../resources");
    let (guides, packs) = (resources.join("guides"), resources.join("documentation"));
    for watched in [&guides, &packs, &here.join("src"), &here.join("build.rs")] {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    let mut pages = Vec::new();
    for path in files(&guides, "md")? {
        pages.push(page(&guides, &path)?);
    }
    let about = About {
        name: "portcullis".to_owned(),
        title: "Guides and skills of this server".to_owned(),
        state: env::var("CARGO_PKG_VERSION")?,
        licence: "the Portcullis authors, Apache-2.0".to_owned(),
        left_out: String::new(),
        address: String::new(),
    };
    fs::write(out.join("portcullis.pack"), pack(&about, &pages))?;
    let mut source = String::from(
        "/// The embedded packs.\npub const EMBEDDED: &[&[u8]] = &[\n    \
         include_bytes!(concat!(env!(\"OUT_DIR\"), \"/portcullis.pack\")),\n",
    );
    for path in files(&packs, "pack")? {
        let name = path.file_name().and_then(|name| name.to_str()).ok_or("it is not UTF-8")?;
        fs::copy(&path, out.join(name))?;
        source += &format!("    include_bytes!(concat!(env!(\"OUT_DIR\"), \"/{name}\")),\n");
    }
    source += "];\n";
    fs::write(out.join("embedded.rs"), source)?;
    Ok(())
}

/// The files with this extension in a folder and its subfolders, sorted.
fn files(folder: &Path, ending: &str) -> Result<Vec<PathBuf>, Box<dyn Error>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            found.extend(files(&path, ending)?);
        } else if path.extension().is_some_and(|found| found == ending) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn page(guides: &Path, path: &Path) -> Result<Page, Box<dyn Error>> {
    // The tool of the TypeScript guide inserts a note about versions here; the packed guide has no note.
    let text = fs::read_to_string(path)?.replace("{{note}}", "");
    let title = text.lines().find_map(|line| line.strip_prefix("# ")).ok_or("it has no title")?;
    let id = path.strip_prefix(guides)?.with_extension("");
    let id = id.to_str().ok_or("it is not UTF-8")?.replace(['/', '\\'], "-");
    Ok(Page { id, title: title.to_owned(), key: String::new(), text: text.trim_end().to_owned() })
}
