//! Checks that no circle of modules is larger than a module and its children, and that modules beside each other form
//! none.

use std::collections::{BTreeMap, BTreeSet};

use super::modules::{Module, Modules};
use super::sources::{assert_none, crates};

/// Allowed larger circles: the crate, a module of the circle, and the reason. Exceptions that are no longer needed
/// are faults.
const LARGE: &[(&str, &str, &str)] = &[(
    "sandbox",
    "gate",
    "each capability implements the gate's `Ask`, and the gate judges by the grants of all capabilities",
)];

/// Allowed circles of modules that are not nested in each other, in the form of [`LARGE`].
const BESIDE: &[(&str, &str, &str)] = &[(
    "sandbox",
    "gate",
    "each capability implements the gate's `Ask`, and the gate judges by the grants of all capabilities",
)];

/// The strongly connected components of more than one module: the largest sets of modules that all use each other,
/// directly or not.
fn circles(uses: &BTreeMap<&Module, BTreeSet<&Module>>) -> Vec<BTreeSet<Module>> {
    let reach: BTreeMap<&Module, BTreeSet<&Module>> = uses
        .keys()
        .map(|start| {
            let (mut reached, mut open) = (BTreeSet::new(), vec![*start]);
            while let Some(next) = open.pop() {
                let used = uses.get(next).into_iter().flatten().copied();
                open.extend(used.filter(|used| reached.insert(*used)));
            }
            (*start, reached)
        })
        .collect();
    let mut circles = BTreeSet::new();
    for (module, reached) in &reach {
        let back =
            reached.iter().filter(|other| reach.get(**other).is_some_and(|r| r.contains(module)));
        let circle: BTreeSet<Module> = back.map(|other| (*other).clone()).collect();
        if circle.len() > 1 {
            circles.insert(circle);
        }
    }
    circles.into_iter().collect()
}

/// Whether a circle consists of a module and some of its children.
fn is_family(circle: &BTreeSet<Module>) -> bool {
    let parent = circle.iter().min_by_key(|module| module.len()).expect("a circle has modules");
    circle.iter().all(|module| {
        module == parent || module.split_last().is_some_and(|(_, above)| above == parent.as_slice())
    })
}

fn name(module: &Module) -> String {
    if module.is_empty() { "crate".to_owned() } else { module.join("::") }
}

/// The text of a circle: which of its modules uses which.
fn explain(
    folder: &str,
    circle: &BTreeSet<Module>,
    uses: &BTreeMap<&Module, BTreeSet<&Module>>,
) -> String {
    let names: Vec<_> = circle.iter().map(name).collect();
    let mut text = format!("host/{folder}: a circle of {}", names.join(", "));
    for from in circle {
        let to = uses[from].iter().filter(|to| circle.contains(**to));
        let to: Vec<_> = to.map(|to| name(to)).collect();
        text += &format!("\n    {} uses {}", name(from), to.join(", "));
    }
    text
}

/// Fails if a crate has a circle that is neither allowed nor an exception, or if an exception is no longer needed.
/// `is_counted` says whether a use of the second module by the first one counts.
fn check(
    exceptions: &[(&str, &str, &str)],
    is_counted: &dyn Fn(&Module, &Module) -> bool,
    is_allowed: &dyn Fn(&BTreeSet<Module>) -> bool,
) {
    let mut faults = Vec::new();
    let mut needed = BTreeSet::new();
    for found in crates().values() {
        let modules = Modules::of(&found.folder);
        let mut uses = modules.uses();
        for (from, used) in &mut uses {
            used.retain(|to| is_counted(from, to));
        }
        for circle in circles(&uses).into_iter().filter(|circle| !is_allowed(circle)) {
            let exception = exceptions.iter().position(|(folder, module, _)| {
                *folder == found.folder && circle.iter().any(|inside| name(inside) == *module)
            });
            match exception {
                Some(exception) => drop(needed.insert(exception)),
                None => faults.push(explain(&found.folder, &circle, &uses)),
            }
        }
    }
    for (at, exception) in exceptions.iter().enumerate() {
        if !needed.contains(&at) {
            faults.push(format!("the exception {exception:?} is no longer needed: remove it"));
        }
    }
    assert_none(&faults);
}

#[test]
fn no_circle_of_modules_is_larger_than_a_module_and_its_children() {
    check(LARGE, &|_, _| true, &is_family);
}

#[test]
fn modules_beside_each_other_form_no_circle() {
    // Uses of an enclosing module do not count, because it declares the names that its children share.
    check(BESIDE, &|from, to| !from.starts_with(to), &|_| false);
}
