//! Searches through the editor, with results in the same form as from files.

use super::*;
use crate::live::{Kind, classes, names::AssetName, value::Reply};

/// Maximum number of assets for which the editor is asked for the class. Each asset takes a message.
const MAX_CLASSES: usize = 50;

/// The Blueprints that the editor finds.
pub fn blueprints(asked: &SearchBlueprints, editor: &Editor<'_>) -> Result<FoundBlueprints, Fault> {
    if editor.seen.kind == Kind::Epic || asked.search_type == SearchType::Inherits {
        return Err(Fault::Unsupported(
            "the editor knows only direct parents, and Epic's server none: this answer is from the files",
        ));
    }
    let page = Page::new(asked.offset, asked.max_results);
    let search_type = serde_json::to_value(asked.search_type).map_err(Failure::from)?;
    let mut arguments = json!({
        "searchType": search_type,
        "searchTerm": asked.search_term,
        "packagePath": asked.package_path,
        "bRecursive": asked.recursive,
    });
    let is_paged = add_page(editor, "search_blueprints", page, &mut arguments);
    let result = editor.read("search_blueprints", &arguments)?;
    let reply = Reply::of("search_blueprints", &result);
    let found = reply.list("results")?.into_iter().map(blueprint).collect::<Result<_, _>>()?;
    let (results, total) = cut_page(page, found, reply, is_paged)?;
    Ok(FoundBlueprints {
        total_results: results.len(),
        results,
        search_criteria: Criteria {
            search_type: asked.search_type,
            search_term: shown(&asked.search_term),
            package_path: (!asked.package_path.is_empty()).then(|| shown(&asked.package_path)),
            recursive: asked.recursive,
        },
        total_count: total,
        offset: page.offset,
        has_more: page.has_more(total),
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(None),
    })
}

fn blueprint(found: Reply<'_>) -> Result<FoundBlueprint, Fault> {
    let matches = found.list("matches")?.into_iter();
    let matched = |entry: Reply<'_>| -> Result<Match, Fault> {
        Ok(Match {
            r#type: entry.text("type")?,
            location: entry.text("location")?,
            context: entry.text("context")?,
        })
    };
    Ok(FoundBlueprint {
        asset_path: found.text("assetPath")?,
        asset_name: found.text("assetName")?,
        package_path: found.text("packagePath")?,
        // The text is empty if the parent class is missing.
        parent_class: shown(found.raw("parentClass")?),
        matches: matches.map(matched).collect::<Result<_, _>>()?,
    })
}

/// Adds the page to the arguments if the server supports paging. Returns whether it does; only
/// newer versions do.
fn add_page(editor: &Editor<'_>, tool: &str, page: Page, arguments: &mut Value) -> bool {
    let can_page = editor.offers(tool, Some("maxResults")) && editor.offers(tool, Some("offset"));
    if can_page {
        arguments["maxResults"] = json!(page.most());
        arguments["offset"] = json!(page.offset);
    }
    can_page
}

/// The page of the results, and the total number of results. With `is_paged`, the server has cut
/// the page already.
fn cut_page<T>(
    page: Page,
    found: Vec<T>,
    reply: Reply<'_>,
    is_paged: bool,
) -> Result<(Vec<T>, usize), Fault> {
    if is_paged {
        let seen = page.offset + found.len();
        let more = usize::from(reply.flag("hasMore")?);
        let total = reply.number("totalCount")?.max(seen + more);
        return Ok((found, total));
    }
    let total = found.len();
    Ok((page.of(found), total))
}

/// The assets that the editor finds.
pub fn assets(asked: &SearchAssets, editor: &Editor<'_>) -> Result<FoundAssets, Fault> {
    let page = Page::new(asked.offset, asked.max_results);
    let (assets, total, warnings) = match editor.seen.kind {
        Kind::UnrealMcpServer => plugin_assets(asked, editor, page)?,
        Kind::Epic => epic_assets(asked, editor, page)?,
    };
    Ok(FoundAssets {
        count: assets.len(),
        assets,
        total_count: total,
        offset: page.offset,
        has_more: page.has_more(total),
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(warnings),
    })
}

type Found = (Vec<FoundAsset>, usize, Vec<String>);

fn plugin_assets(asked: &SearchAssets, editor: &Editor<'_>, page: Page) -> Result<Found, Fault> {
    if asked.package_names.iter().any(|name| name.contains('*'))
        || asked.class_paths.iter().any(|class| !class.starts_with('/'))
    {
        return Err(Fault::Unsupported(
            "the editor does not support `*` in names or classes without their path: this answer is from the files",
        ));
    }
    // All arguments are sent, since the tool's schema requires each of them.
    let mut arguments = json!({
        "packagePaths": asked.package_paths,
        "packageNames": asked.package_names,
        "classPaths": asked.class_paths,
        "bRecursive": asked.recursive,
        "bIncludeTags": asked.include_tags,
    });
    let is_paged = add_page(editor, "search_assets", page, &mut arguments);
    let result = match editor.read("search_assets", &arguments) {
        Err(Fault::Failed(why)) if why.starts_with("Error: Searching /Game") => {
            return Err(Fault::Unsupported(
                "the editor does not search all of /Game without a class: this answer is from the files",
            ));
        }
        other => other?,
    };
    let reply = Reply::of("search_assets", &result);
    let asset = |asset: Reply<'_>| -> Result<FoundAsset, Fault> {
        Ok(FoundAsset {
            exists: asset.flag("exists")?,
            asset_path: asset.text("assetPath")?,
            asset_name: asset.text("assetName")?,
            package_path: asset.text("packagePath")?,
            class_path: asset.text("classPath")?,
            object_path: asset.text("objectPath")?,
            tags: match asked.include_tags {
                true => Some(tags_told(asset.object("tags")?.value())),
                false => None,
            },
        })
    };
    let found = reply.list("assets")?.into_iter().map(asset).collect::<Result<_, _>>()?;
    let (assets, total) = cut_page(page, found, reply, is_paged)?;
    Ok((assets, total, Vec::new()))
}

fn epic_assets(asked: &SearchAssets, editor: &Editor<'_>, page: Page) -> Result<Found, Fault> {
    if !asked.package_names.is_empty() || asked.include_tags || asked.class_paths.len() > 1 {
        return Err(Fault::Unsupported(
            "Epic's server searches only by folders and at most one class: this answer is from the files",
        ));
    }
    let class = asked.class_paths.first().map_or("", String::as_str);
    if !class.is_empty() && !class.starts_with('/') || class.ends_with(".Blueprint") {
        return Err(Fault::Unsupported(
            "Epic's server needs the path of a class, and finds no Blueprints by /Script/Engine.Blueprint: this answer is from the files",
        ));
    }
    let mut packages = Vec::new();
    for folder in &asked.package_paths {
        let mut arguments =
            json!({ "folder_path": folder, "name": "", "recursive": asked.recursive });
        if !class.is_empty() {
            arguments["asset_type"] = json!({ "refPath": class });
        }
        let found = editor.epic("AssetTools", "find_assets", &arguments)?;
        packages.extend(Reply::of("find_assets", &found).texts("")?);
    }
    packages.sort_unstable();
    packages.dedup();
    let total = packages.len();
    let packages = page.of(packages);
    let has_unasked = class.is_empty() && packages.len() > MAX_CLASSES;
    let files = editor.files();
    let (mut assets, mut unknown) = (Vec::new(), Vec::new());
    for (number, path) in packages.into_iter().enumerate() {
        let name = AssetName::read(&path)?;
        let class = match class {
            "" if number < MAX_CLASSES => {
                let asset = json!({ "asset_path": name.package() });
                let reported_class = editor.epic("AssetTools", "get_asset_class", &asset)?;
                let reported_class = Reply::of("get_asset_class", &reported_class).text("")?;
                classes::path(files.as_ref(), &name, &reported_class).unwrap_or_else(|| {
                    unknown.push(reported_class.clone());
                    reported_class
                })
            }
            class => class.to_owned(),
        };
        assets.push(found_asset(&name, class));
    }
    let unasked = has_unasked.then(|| {
        format!("only the first {MAX_CLASSES} assets have a class here: name a class in classPaths")
    });
    let left_out = "Epic's server leaves out the packages of external actors".to_owned();
    let warnings = unasked.into_iter().chain(classes::warning(&unknown)).chain([left_out]);
    Ok((assets, total, warnings.collect()))
}

fn found_asset(name: &AssetName, class_path: String) -> FoundAsset {
    FoundAsset {
        exists: true,
        asset_path: name.path(),
        asset_name: name.object().to_owned(),
        package_path: name.folder().to_owned(),
        class_path,
        object_path: name.path(),
        tags: None,
    }
}
