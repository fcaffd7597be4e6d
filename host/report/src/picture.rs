//! Draws plugins with their capabilities and targets, and upstream servers, as an SVG picture. All facts in the picture
//! are also in the tables of the page.

use std::fmt::Write as _;

use crate::escape::escaped;
use crate::facts::{Facts, State};

/// Height of a line of the picture, in pixels.
const LINE_HEIGHT: usize = 26;

/// The left edges of the three columns, and the width of the picture.
const COLUMNS: [usize; 3] = [8, 220, 450];
const WIDTH: usize = 1000;

/// Maximum number of lines for the targets of one capability. The table has all targets.
const MAX_TARGETS: usize = 6;

/// Maximum number of characters drawn of a text.
const MAX_TEXT: usize = 64;

/// A plugin with its capabilities and their targets, or a server with its reach.
struct Branch<'a> {
    name: &'a str,
    /// For a plugin: a capability, whether it can change something, and its targets. For a server: whether the server
    /// is confined, `true`, and the server's reach.
    leaves: Vec<(&'a str, bool, Vec<String>)>,
}

/// The picture. `None`: nothing reaches beyond the sandbox.
pub fn picture(facts: &Facts) -> Option<String> {
    let branches: Vec<_> =
        branches(facts).into_iter().filter(|one| !one.leaves.is_empty()).collect();
    if branches.is_empty() {
        return None;
    }
    let (mut body, mut top) = (String::new(), LINE_HEIGHT / 2);
    for branch in &branches {
        top = draw(branch, top, &mut body) + LINE_HEIGHT / 2;
    }
    let names: Vec<_> = branches.iter().map(|branch| branch.name).collect();
    let about = format!("Plugins and servers that reach beyond the sandbox: {}.", names.join(", "));
    Some(format!(
        "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"Picture\"><svg role=\"img\" aria-labelledby=\"picture-title picture-about\" viewBox=\"0 0 {WIDTH} {top}\" \
         width=\"{WIDTH}\" height=\"{top}\"><title id=\"picture-title\">What can reach what</title>\
         <desc id=\"picture-about\">{} The tables below say the same.</desc>{body}</svg></div>",
        escaped(&about)
    ))
}

fn branches(facts: &Facts) -> Vec<Branch<'_>> {
    let plugins =
        facts.plugins.iter().filter(|plugin| plugin.state == State::Loaded).map(|plugin| {
            let granted = plugin.capabilities.iter().filter(|one| one.granted.is_some());
            let leaves = granted.map(|one| {
                let mut targets = one.targets.clone();
                if targets.len() > MAX_TARGETS {
                    let more = targets.len() - (MAX_TARGETS - 1);
                    targets.truncate(MAX_TARGETS - 1);
                    targets.push(format!("and {more} more"));
                }
                (one.name.as_str(), one.can_change, targets)
            });
            Branch { name: &plugin.name, leaves: leaves.collect() }
        });
    let upstreams = facts.upstreams.iter().map(|upstream| Branch {
        name: &upstream.name,
        leaves: vec![(
            if upstream.confined { "confined" } else { "unconfined" },
            true,
            vec![upstream.reach.clone()],
        )],
    });
    plugins.chain(upstreams).collect()
}

/// Draws a branch with its upper edge at `top`, in pixels. Returns its lower edge.
fn draw(branch: &Branch<'_>, top: usize, body: &mut String) -> usize {
    let mut next = top;
    draw_text(body, COLUMNS[0], top, branch.name, "name");
    for (capability, can_change, targets) in &branch.leaves {
        draw_edge(body, COLUMNS[1] - 50, top, COLUMNS[1] - 8, next);
        let label = if *can_change {
            format!("{capability}, can change")
        } else {
            (*capability).to_owned()
        };
        draw_text(body, COLUMNS[1], next, &label, if *can_change { "change" } else { "keep" });
        let first = next;
        for target in targets {
            draw_edge(body, COLUMNS[2] - 40, first, COLUMNS[2] - 8, next);
            draw_text(body, COLUMNS[2], next, target, "target");
            next += LINE_HEIGHT;
        }
        if targets.is_empty() {
            next += LINE_HEIGHT;
        }
    }
    next.max(top + LINE_HEIGHT)
}

fn draw_text(body: &mut String, left: usize, top: usize, text: &str, class: &str) {
    let cut = match text.char_indices().nth(MAX_TEXT) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    };
    let baseline = top + 17;
    // Writing to a string does not fail.
    let _ = write!(
        body,
        "<text x=\"{left}\" y=\"{baseline}\" class=\"{class}\"><title>{}</title>{}</text>",
        escaped(text),
        escaped(&cut)
    );
}

fn draw_edge(body: &mut String, from: usize, top: usize, to: usize, bottom: usize) {
    let (top, bottom, middle) = (top + 12, bottom + 12, usize::midpoint(from, to));
    let _ =
        write!(body, "<path d=\"M{from} {top} C{middle} {top} {middle} {bottom} {to} {bottom}\"/>");
}
