//! Reads an Unreal Engine project from disk, without an editor: its packages with their dependencies and contents,
//! its C++ classes, its configuration and its source control.

#![forbid(unsafe_code)]

mod classes;
mod config;
mod contents;
mod cpp;
mod descriptor;
mod disk;
mod entry;
mod find;
mod hierarchy;
mod index;
mod level;
mod mounts;
mod native_classes;
mod open;
mod parts;
mod refresh;
mod relations;
mod search;
mod source_control;
mod store;
mod strings;
mod walk;

pub use classes::{Classes, class_of, class_path};
pub use config::{Config, Setting, Value};
pub use contents::{
    ContentHit, ContentKind, ContentQuery, Contents, Found, State as ContentState, UpdatedContents,
};
pub use cpp::{CppClass, CppClasses};
pub use descriptor::{Association, Descriptor, PluginUse};
pub use entry::{Asset, Entry, Link, State};
pub use find::{NoProject, Project, find, find_among};
pub use hierarchy::{ClassKind, ClassNode, Hierarchy, hierarchy};
pub use index::Index;
pub use level::{Actor, Actors};
pub use mounts::{MAX_PLUGIN_DEPTH, MAX_PLUGIN_FOLDERS, Mount, MountPoints};
pub use open::{OpenFault, Opened, object_path};
pub use parts::{ActorParts, Component, ObjectDifference};
pub use refresh::{Checked, TrustPolicy, UpdatedIndex, now, refresh};
pub use relations::{Broken, Relation, Relations, TreeNode, Unused, UnusedPackages};
pub use search::{AssetQuery, BlueprintQuery, Hit, Matched};
pub use source_control::SourceControl;
pub use strings::Id;
pub use walk::{MAX_FOLDER_DEPTH, MAX_PACKAGE_FOLDERS, MAX_PACKAGES};
