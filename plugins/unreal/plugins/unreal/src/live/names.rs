//! Names of assets in the forms that the tools of editors take and give.

use super::Fault;
use unreal_project::object_path;

/// An asset or an object in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssetName {
    package: String,
    object: String,
}

impl AssetName {
    /// Reads a name in one of these forms: `/Game/Doors/BP_Door`,
    /// `/Game/Doors/BP_Door.BP_Door`, `/Game/Doors/BP_Door.BP_Door:EventGraph`, or one of these
    /// forms in quotes after a class. A package alone stands for the asset with its name. Fails if
    /// the text has another form.
    pub fn read(text: &str) -> Result<Self, Fault> {
        let (package, object) = object_path(text).ok_or(Fault::Unsupported(
            "the path does not have the form of an asset's path, such as /Game/Doors/BP_Door",
        ))?;
        let name = package.rsplit('/').next().unwrap_or_default();
        let object = if object.is_empty() { name } else { object };
        Ok(Self { package: package.to_owned(), object: object.to_owned() })
    }

    /// `/Game/Doors/BP_Door`
    pub fn package(&self) -> &str {
        &self.package
    }

    /// `BP_Door`, or `BP_Door:EventGraph`
    pub fn object(&self) -> &str {
        &self.object
    }

    /// `/Game/Doors`
    pub fn folder(&self) -> &str {
        self.package.rsplit_once('/').map_or("", |(folder, _)| folder)
    }

    /// `/Game/Doors/BP_Door.BP_Door`
    pub fn path(&self) -> String {
        format!("{}.{}", self.package, self.object)
    }
}

/// The package of a path in an editor's answer. The path may be the path of an object.
pub fn package_of(path: &str) -> &str {
    object_path(path).map_or(path, |(package, _)| package)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_forms_of_one_asset() {
        for text in [
            "/Game/Doors/BP_Door",
            " /Game/Doors/BP_Door.BP_Door ",
            "/Script/Engine.Blueprint'/Game/Doors/BP_Door.BP_Door'",
        ] {
            let name = AssetName::read(text).expect(text);
            assert_eq!((name.package(), name.folder()), ("/Game/Doors/BP_Door", "/Game/Doors"));
            assert_eq!(name.path(), "/Game/Doors/BP_Door.BP_Door");
        }
        let inner = AssetName::read("/Game/A.A:EventGraph").expect("it is an object");
        assert_eq!((inner.package(), inner.path().as_str()), ("/Game/A", "/Game/A.A:EventGraph"));
        for text in ["", "BP_Door", "/", "/Game/", "/Game//A"] {
            assert!(AssetName::read(text).is_err(), "{text}");
        }
        assert_eq!(
            (package_of("/Game/A.A"), package_of("/Script/Engine")),
            ("/Game/A", "/Script/Engine")
        );
    }
}
