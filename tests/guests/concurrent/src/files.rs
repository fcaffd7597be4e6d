//! The functions that use files, through `wasi:filesystem` of WASI 0.3.

use wasip3::filesystem::preopens::get_directories;
use wasip3::filesystem::types::{Descriptor, DescriptorFlags, ErrorCode, OpenFlags, PathFlags};

fn said(code: ErrorCode) -> String {
    format!("{code:?}")
}

/// The directory that contains the path, and the path beneath it.
fn place(path: &str) -> Result<(Descriptor, String), String> {
    let mut found = get_directories().into_iter().filter_map(|(directory, name)| {
        let rest = path.strip_prefix(name.trim_end_matches('/'))?.strip_prefix('/')?.to_owned();
        Some((directory, rest))
    });
    found.next().ok_or_else(|| "no directory".to_owned())
}

async fn open(
    (directory, rest): &(Descriptor, String),
    create: OpenFlags,
    flags: DescriptorFlags,
) -> Result<Descriptor, String> {
    let opened = directory.open_at(PathFlags::SYMLINK_FOLLOW, rest.clone(), create, flags);
    opened.await.map_err(said)
}

/// Reads a file.
pub async fn read_text(path: &str) -> Result<String, String> {
    let file = open(&place(path)?, OpenFlags::empty(), DescriptorFlags::READ).await?;
    let (bytes, ended) = file.read_via_stream(0);
    let bytes = bytes.collect().await;
    ended.await.map_err(said)?;
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// Writes a text to a file.
async fn write_text(path: &str, text: &str) -> Result<(), String> {
    let create = OpenFlags::CREATE | OpenFlags::TRUNCATE;
    let file = open(&place(path)?, create, DescriptorFlags::WRITE).await?;
    let (mut out, read) = wasip3::wit_stream::new();
    let ended = file.write_via_stream(read, 0);
    let (first, second) = text.as_bytes().split_at(text.len() / 2);
    out.write_all(first.to_vec()).await;
    out.write_all(second.to_vec()).await;
    drop(out);
    ended.await.map_err(said)
}

/// Copies a file beside itself. Returns what the directory has then, with the sizes.
pub async fn copy(path: &str, suffix: &str) -> Result<Vec<String>, String> {
    let text = read_text(path).await?;
    write_text(&format!("{path}{suffix}"), &text).await?;
    let (directory, rest) = place(path)?;
    let parent = rest.rsplit_once('/').map_or(".", |(parent, _)| parent).to_owned();
    let opened =
        directory.open_at(PathFlags::empty(), parent, OpenFlags::DIRECTORY, DescriptorFlags::READ);
    let parent = opened.await.map_err(said)?;
    let (entries, ended) = parent.read_directory();
    let mut listed = Vec::new();
    for entry in entries.collect().await {
        let stat = parent.stat_at(PathFlags::empty(), entry.name.clone()).await.map_err(said)?;
        listed.push(format!("{} {:?} {}", entry.name, entry.type_, stat.size));
    }
    ended.await.map_err(said)?;
    listed.sort();
    Ok(listed)
}

/// Writes chunks of 64 KiB to a file. Returns the number of bytes.
pub async fn fill(path: &str, chunks: u32) -> Result<u64, String> {
    let create = OpenFlags::CREATE | OpenFlags::TRUNCATE;
    let file = open(&place(path)?, create, DescriptorFlags::WRITE).await?;
    let (mut out, read) = wasip3::wit_stream::new();
    let ended = file.append_via_stream(read);
    let mut written = 0;
    for _ in 0..chunks {
        if !out.write_all(vec![b'x'; 65_536]).await.is_empty() {
            break;
        }
        written += 65_536;
    }
    drop(out);
    ended.await.map_err(said)?;
    Ok(written)
}

/// Makes a link.
pub async fn link(path: &str, target: String) -> Result<(), String> {
    let (directory, rest) = place(path)?;
    directory.symlink_at(target, rest).await.map_err(said)
}
