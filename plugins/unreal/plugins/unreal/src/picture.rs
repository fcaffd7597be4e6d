//! The tool `get_asset_thumbnail`: the thumbnail of an asset in the content browser.

use crate::{
    answer::{SourceKind, shown},
    offline::Offline,
    source::{SourceQuery, answer},
};
use portcullis_plugin::prelude::*;
use serde_json::Value;

/// Maximum size of a thumbnail that is returned, in bytes.
const MAX_PICTURE: usize = 8 << 20;

about_project! {
    /// Show the thumbnail that the editor saved with an asset.
    pub struct AssetThumbnail {
        /// Path of the asset, such as /Game/Doors/SM_Door.
        #[schemars(length(min = 1, max = 2048))]
        asset_path: String,
    }
}

tool_result! {
    /// Facts about the picture, which is a content item of its own.
    pub struct Picture {
        asset_path: String,
        /// The object in the package
        object: String,
        width: u32,
        height: u32,
        mime_type: String,
        bytes: usize,
    }
}

impl Tool for AssetThumbnail {
    const NAME: &'static str = "get_asset_thumbnail";
    const TITLE: Option<&'static str> = Some("Asset thumbnail");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    type Output = Reply;

    fn call(self, request: &Request) -> Result<Reply, Failure> {
        answer(&self, request)
    }

    fn output_schema() -> Option<Value> {
        <Json<Picture> as IntoReply>::schema()
    }
}

impl SourceQuery for AssetThumbnail {
    type Answer = Reply;

    fn ask_files(&self, _request: &Request<'_>, offline: &Offline) -> Result<Reply, Failure> {
        let opened = offline.read(&self.asset_path)?;
        let package = opened.package()?;
        let thumbnails = package.thumbnails();
        let wanted = thumbnails.iter().find(|thumbnail| {
            !opened.object.is_empty() && thumbnail.object.eq_ignore_ascii_case(&opened.object)
        });
        let Some(thumbnail) = wanted.or(thumbnails.first()) else {
            return Err(Failure::new(format!(
                "{} has no thumbnail: the editor has not saved one with it",
                opened.package
            )));
        };
        if thumbnail.bytes.len() > MAX_PICTURE {
            let bytes = thumbnail.bytes.len();
            return Err(Failure::new(format!("the thumbnail has {bytes} bytes: too many to show")));
        }
        let picture = Picture {
            asset_path: shown(&opened.package),
            object: thumbnail.object.clone(),
            width: thumbnail.width,
            height: thumbnail.height,
            mime_type: thumbnail.mime_type.to_owned(),
            bytes: thumbnail.bytes.len(),
            source: SourceKind::Offline,
            as_of: offline.as_of.clone(),
            warnings: offline.warnings_and(None),
        };
        let picture = serde_json::to_value(picture)?;
        Ok(Reply::new()
            .text(picture.to_string())
            .image(thumbnail.bytes, thumbnail.mime_type)
            .structured(picture))
    }
}
