//! Reads the thumbnails of the assets in a package.

use crate::{cursor::Cursor, fault::CursorStop, object::Package};

/// A thumbnail of an asset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thumbnail<'a> {
    /// The class of the object, such as `Blueprint`.
    pub class: String,
    /// The object in the package, such as `BP_Door`.
    pub object: String,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels.
    pub height: u32,
    /// `image/png` or `image/jpeg`.
    pub mime_type: &'static str,
    /// The image file.
    pub bytes: &'a [u8],
}

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
const JPEG: &[u8] = b"\xff\xd8\xff";

impl<'a> Package<'a> {
    /// The thumbnails in this package. Entries without an image are skipped.
    pub fn thumbnails(&self) -> Vec<Thumbnail<'a>> {
        let mut found = Vec::new();
        // Thumbnails before an error are kept.
        let _fault = self.read_thumbnails(&mut found);
        found
    }

    fn read_thumbnails(&self, found: &mut Vec<Thumbnail<'a>>) -> Result<(), CursorStop> {
        let what = "thumbnails";
        let summary = &self.header.summary;
        if summary.thumbnails <= 0 {
            return Ok(());
        }
        let whole = self.whole();
        let mut index = whole.from(what, summary.thumbnails.into())?;
        for _ in 0..index.count(what, 12)? {
            let class = crate::visible(&index.string(what)?, 256, false).into_owned();
            let object = crate::visible(&index.string(what)?, 1024, false).into_owned();
            let offset = index.i32(what)?;
            let mut data = whole.from(what, offset.into())?;
            found.extend(read_thumbnail(&mut data, class, object)?);
        }
        Ok(())
    }
}

fn read_thumbnail<'a>(
    cursor: &mut Cursor<'a>,
    class: String,
    object: String,
) -> Result<Option<Thumbnail<'a>>, CursorStop> {
    let what = "thumbnails";
    let width = cursor.i32(what)?.unsigned_abs();
    // The sign of the height tells whether the image is lossy.
    let height = cursor.i32(what)?.unsigned_abs();
    let size = cursor.count(what, 1)?;
    let bytes = cursor.take(what, size)?;
    let mime_type = match bytes {
        bytes if bytes.starts_with(PNG) => "image/png",
        bytes if bytes.starts_with(JPEG) => "image/jpeg",
        _ => return Ok(None),
    };
    Ok(Some(Thumbnail { class, object, width, height, mime_type, bytes }))
}
