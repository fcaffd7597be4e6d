//! Searches through the editor, with results in the same form as from files.

use super::*;
use crate::live::{Kind, value};

/// Most assets whose class is asked for one by one.
const MAX_CLASSES: usize = 50;

/// The Blueprints that the editor finds.
pub fn blueprints(asked: &SearchBlueprints, editor: &Editor<'_>) -> Result<FoundBlueprints, Fault> {
    if editor.seen.kind == Kind::Epic || asked.search_type == SearchType::Inherits {
        return Err(Fault::Unsupported(
            "the editor knows direct parents alone, and Epic's server none: the files answer",
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
    let pages_there = add_page(editor, "search_blueprints", page, &mut arguments);
    let result = editor.read("search_blueprints", &arguments)?;
    let found = result["results"].as_array().into_iter().flatten().map(blueprint).collect();
    let (results, total) = cut(page, found, &result, pages_there);
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

fn blueprint(found: &Value) -> FoundBlueprint {
    let matches = found["matches"].as_array().into_iter().flatten();
    FoundBlueprint {
        asset_path: value::text(found, "assetPath"),
        asset_name: value::text(found, "assetName"),
        package_path: value::text(found, "packagePath"),
        parent_class: value::text(found, "parentClass"),
        matches: matches
            .map(|one| Match {
                r#type: value::text(one, "type"),
                location: value::text(one, "location"),
                context: value::text(one, "context"),
            })
            .collect(),
    }
}

/// Newer servers support paging.
fn add_page(editor: &Editor<'_>, tool: &str, page: Page, arguments: &mut Value) -> bool {
    let pages = editor.offers(tool, Some("maxResults")) && editor.offers(tool, Some("offset"));
    if pages {
        arguments["maxResults"] = json!(page.most());
        arguments["offset"] = json!(page.offset);
    }
    pages
}

/// The page of the results, and their total number.
fn cut<T>(page: Page, found: Vec<T>, result: &Value, pages_there: bool) -> (Vec<T>, usize) {
    if pages_there {
        let seen = page.offset + found.len();
        let more = usize::from(result["hasMore"] == true);
        let total = value::number(result, "totalCount").max(seen + more);
        return (found, total);
    }
    let total = found.len();
    (page.of(found), total)
}

/// The assets that the editor finds.
pub fn assets(asked: &SearchAssets, editor: &Editor<'_>) -> Result<FoundAssets, Fault> {
    let page = Page::new(asked.offset, asked.max_results);
    let (assets, total, more) = match editor.seen.kind {
        Kind::UnrealMcpServer => of_plugin(asked, editor, page)?,
        Kind::Epic => of_epic(asked, editor, page)?,
    };
    Ok(FoundAssets {
        count: assets.len(),
        assets,
        total_count: total,
        offset: page.offset,
        has_more: page.has_more(total),
        source: SourceKind::Live,
        as_of: editor.as_of(),
        warnings: editor.warnings(more),
    })
}

type Found = (Vec<FoundAsset>, usize, Option<String>);

fn of_plugin(asked: &SearchAssets, editor: &Editor<'_>, page: Page) -> Result<Found, Fault> {
    if asked.package_names.iter().any(|name| name.contains('*'))
        || asked.class_paths.iter().any(|class| !class.starts_with('/'))
    {
        return Err(Fault::Unsupported(
            "the editor knows neither `*` in names nor classes by name alone: the files answer",
        ));
    }
    // All arguments, since the tool's schema requires each.
    let mut arguments = json!({
        "packagePaths": asked.package_paths,
        "packageNames": asked.package_names,
        "classPaths": asked.class_paths,
        "bRecursive": asked.recursive,
        "bIncludeTags": asked.include_tags,
    });
    let pages_there = add_page(editor, "search_assets", page, &mut arguments);
    let result = match editor.read("search_assets", &arguments) {
        Err(Fault::Failed(why)) if why.starts_with("Error: Searching /Game") => {
            return Err(Fault::Unsupported(
                "the editor does not search all of /Game without a class: the files answer",
            ));
        }
        other => other?,
    };
    let found = result["assets"].as_array().into_iter().flatten();
    let found = found.map(|asset| FoundAsset {
        exists: asset["exists"] == true,
        asset_path: value::text(asset, "assetPath"),
        asset_name: value::text(asset, "assetName"),
        package_path: value::text(asset, "packagePath"),
        class_path: value::text(asset, "classPath"),
        object_path: value::text(asset, "objectPath"),
        tags: asked.include_tags.then(|| tags_told(&asset["tags"])),
    });
    let (assets, total) = cut(page, found.collect(), &result, pages_there);
    Ok((assets, total, None))
}

fn of_epic(asked: &SearchAssets, editor: &Editor<'_>, page: Page) -> Result<Found, Fault> {
    if !asked.package_names.is_empty() || asked.include_tags || asked.class_paths.len() > 1 {
        return Err(Fault::Unsupported(
            "Epic's server finds assets by folder and one class alone: the files answer",
        ));
    }
    let class = asked.class_paths.first().map_or("", String::as_str);
    if !class.is_empty() && !class.starts_with('/') || class.ends_with(".Blueprint") {
        return Err(Fault::Unsupported(
            "Epic's server finds Blueprints by the class they make alone: the files answer",
        ));
    }
    let mut packages = Vec::new();
    for folder in &asked.package_paths {
        let mut arguments =
            json!({ "folder_path": folder, "name": "", "recursive": asked.recursive });
        if !class.is_empty() {
            arguments["asset_type"] = json!({ "refPath": class });
        }
        packages.extend(value::texts(&editor.epic("AssetTools", "find_assets", &arguments)?));
    }
    packages.sort_unstable();
    packages.dedup();
    let total = packages.len();
    let packages = page.of(packages);
    let unasked = class.is_empty() && packages.len() > MAX_CLASSES;
    let mut assets = Vec::new();
    for (number, path) in packages.into_iter().enumerate() {
        let class = match class {
            "" if number < MAX_CLASSES => {
                let asset = json!({ "asset_path": path });
                let told = editor.epic("AssetTools", "get_asset_class", &asset)?;
                shown(told["refPath"].as_str().or(told.as_str()).unwrap_or_default())
            }
            class => class.to_owned(),
        };
        assets.push(found(&path, class));
    }
    let unasked = unasked.then(|| {
        format!("only the first {MAX_CLASSES} were asked for their class: name one in classPaths")
    });
    Ok((assets, total, unasked))
}

/// An asset by the path of its package or its object.
fn found(path: &str, class_path: String) -> FoundAsset {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let (package, object) = name.split_once('.').unwrap_or((name, name));
    let object_path = format!("{folder}/{package}.{object}");
    FoundAsset {
        exists: true,
        asset_path: object_path.clone(),
        asset_name: object.to_owned(),
        package_path: folder.to_owned(),
        class_path,
        object_path,
        tags: None,
    }
}
