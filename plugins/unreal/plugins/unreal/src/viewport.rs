//! The tool `capture_viewport`: a picture of the editor's level viewport.

use crate::{
    answer::SourceKind,
    live::{Fault, Kind, value::Reply},
    source::to_change,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use portcullis_plugin::prelude::*;
use serde_json::Value;

/// Maximum size of a picture, in bytes.
const MAX_PICTURE: usize = 12 << 20;
/// The first bytes of each PNG file.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

about_project! {
    /// Take a picture of the editor's level viewport. The user is asked first. While a game runs in the editor, the picture may show the level instead.
    pub struct CaptureViewport {
        /// With gizmos, icons and outlines of the editor.
        #[serde(default)]
        show_ui: bool,
    }
}

tool_result! {
    /// Facts about the picture, which is a content item of its own.
    pub struct Viewport {
        width: u32,
        height: u32,
        mime_type: String,
        bytes: usize,
        /// Where the camera is: x, y and z in centimetres
        camera_location: Option<[f64; 3]>,
        /// How the camera looks: pitch, yaw and roll in degrees
        camera_rotation: Option<[f64; 3]>,
    }
}

impl Tool for CaptureViewport {
    const NAME: &'static str = "capture_viewport";
    const TITLE: Option<&'static str> = Some("Viewport picture");
    const HINTS: Hints = Hints::new().read_only(true).idempotent(true).open_world(false);
    const NEEDS: &'static [&'static str] = &["editor-capture"];
    type Output = portcullis_plugin::Reply;

    fn call(self, request: &Request) -> Result<portcullis_plugin::Reply, Failure> {
        let editor = to_change(request, self.project_dir.as_deref())?;
        if editor.seen.kind != Kind::Epic {
            return Err(Failure::new(
                "UnrealMCPServer cannot take pictures: the editor needs Epic's Unreal MCP (engine 5.8 or newer)",
            ));
        }
        let deed = editor.deed("show the model a picture of the Unreal editor");
        request.ask(consent("capture", deed, "the level viewport"))?;
        // The server requires all arguments, also optional ones.
        let arguments =
            json!({ "captureTransform": null, "annotations": null, "bShowUI": self.show_ui });
        let told = editor.epic_now("EditorAppToolset", "CaptureViewport", &arguments)?;
        let (bytes, width, height) = picture(&told)?;
        let viewport = Viewport {
            width,
            height,
            mime_type: "image/png".to_owned(),
            bytes: bytes.len(),
            camera_location: numbers(&told["cameraLocation"], ["x", "y", "z"]),
            camera_rotation: numbers(&told["cameraRotation"], ["pitch", "yaw", "roll"]),
            source: SourceKind::Live,
            as_of: editor.as_of(),
            warnings: editor.warnings(None),
        };
        let viewport = serde_json::to_value(viewport)?;
        Ok(portcullis_plugin::Reply::new()
            .text(viewport.to_string())
            .image(bytes, "image/png")
            .structured(viewport))
    }

    fn output_schema() -> Option<Value> {
        <Json<Viewport> as IntoReply>::schema()
    }
}

/// The picture in a capture, with its width and height in pixels. The picture must be a PNG file.
fn picture(told: &Value) -> Result<(Vec<u8>, u32, u32), Fault> {
    let misshapen = |why: &str| Fault::Misshapen("CaptureViewport".to_owned(), why.to_owned());
    let data = Reply::of("CaptureViewport", told).object("image")?.raw("data")?;
    if data.len() / 4 * 3 > MAX_PICTURE {
        return Err(misshapen("the picture has more than 12 MiB"));
    }
    let bytes = STANDARD.decode(data).map_err(|_| misshapen("the picture is not in base64"))?;
    // The header is the first chunk: width and height are its first numbers.
    let header = bytes.strip_prefix(PNG).and_then(|rest| rest.strip_prefix(b"\0\0\0\rIHDR"));
    let size = header
        .and_then(|rest| Some((rest.first_chunk::<4>()?, rest.get(4..)?.first_chunk::<4>()?)));
    let (width, height) = size.ok_or_else(|| misshapen("the picture is not PNG"))?;
    let (width, height) = (u32::from_be_bytes(*width), u32::from_be_bytes(*height));
    Ok((bytes, width, height))
}

/// Three numbers of an object; `None` if one of them is missing.
fn numbers(value: &Value, keys: [&str; 3]) -> Option<[f64; 3]> {
    let [a, b, c] = keys.map(|key| value[key].as_f64());
    Some([a?, b?, c?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_are_png() {
        let told = |data: &str| json!({ "image": { "mimeType": "image/png", "data": data } });
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x03";
        let (bytes, width, height) = picture(&told(&STANDARD.encode(png))).expect("it is PNG");
        assert_eq!((bytes.as_slice(), width, height), (png.as_slice(), 2, 3));
        for data in ["", "no base64", &STANDARD.encode(b"<svg/>"), &STANDARD.encode(&png[..20])] {
            assert!(matches!(picture(&told(data)), Err(Fault::Misshapen(..))), "{data}");
        }
        assert!(matches!(picture(&json!({})), Err(Fault::Misshapen(..))));
    }
}
