//! The tool `get_class_hierarchy`: the classes of a project in C++ and Blueprints, in one hierarchy.

use crate::{
    answer::{Page, SourceKind, shown},
    offline::Offline,
    source::SourceQuery,
};
use portcullis_plugin::prelude::*;
use unreal_project::{ClassKind, ClassNode, hierarchy};

about_project! {
    /// The hierarchy of the project's classes: those declared in C++ in its `Source` folders, and Blueprints, below the engine's classes. Answers "what derives from X" and "what does X derive from".
    pub struct ClassHierarchy {
        /// Only this class, what it derives from and what derives from it: ADoor, Actor, BP_Door, /Game/Doors/BP_Door or /Script/MyGame.Door. Left out: all classes of the project.
        #[schemars(length(min = 1, max = 1024))]
        class_name: Option<String>,
        /// How many classes at most; 0: as many as fit.
        #[serde(default = "crate::answer::forty")]
        max_results: u32,
        /// Number of results to skip.
        #[serde(default)]
        offset: u32,
    }
}

tool_result! {
    /// Classes, each before those that derive from it.
    pub struct Classes {
        classes: Vec<ClassInfo>,
        /// The ancestors of `className`, nearest first, as far as they are known
        ancestors: Vec<String>,
        total_count: usize,
        offset: usize,
        has_more: bool,
    }
}

#[data]
struct ClassInfo {
    /// Such as /Script/MyGame.Door or /Game/Doors/BP_Door.BP_Door_C
    path: String,
    /// `engine` also stands for plugins outside of the project
    kind: Declared,
    /// Number of its ancestors in this list
    depth: usize,
    /// Header and line of a class in C++
    #[serde(skip_serializing_if = "Option::is_none")]
    header: Option<String>,
}

#[data]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Declared {
    Engine,
    Cpp,
    Blueprint,
}

read_only_tool!(ClassHierarchy, "get_class_hierarchy", "Class hierarchy", Classes);

impl SourceQuery for ClassHierarchy {
    type Answer = Classes;

    fn ask_files(&self, request: &Request<'_>, offline: &Offline) -> Result<Classes, Failure> {
        let (cpp, cut) = offline.cpp_classes(request);
        let root = self.class_name.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let found = hierarchy(&offline.index, &cpp, root).ok_or_else(|| {
            Failure::new(format!(
                "this project has no class {}, and none of its classes derives from such a class: \
                 search_blueprints finds Blueprints by a part of their name",
                shown(root.unwrap_or_default())
            ))
        })?;
        let page = Page::new(self.offset, self.max_results);
        let total_count = found.classes.len();
        Ok(Classes {
            classes: page.of(found.classes).into_iter().map(info).collect(),
            ancestors: found.ancestors.iter().map(|path| shown(path)).collect(),
            total_count,
            offset: page.offset,
            has_more: page.has_more(total_count),
            source: SourceKind::Offline,
            warnings: offline.warnings_and(cut),
            as_of: offline.as_of.clone(),
        })
    }
}

fn info(class: ClassNode) -> ClassInfo {
    let ClassNode { path, kind, depth, declared } = class;
    ClassInfo {
        path: shown(&path),
        kind: match kind {
            ClassKind::Outside => Declared::Engine,
            ClassKind::Cpp => Declared::Cpp,
            ClassKind::Blueprint => Declared::Blueprint,
        },
        depth,
        header: declared.map(|(file, line)| shown(&format!("{file}:{line}"))),
    }
}
