//! Tests of graphs as pseudo-code: the flow, the values, and the stable names of nodes.

use unreal_package::{Graph, Guid, Link, Node, NodeKind, NodePin};

fn pin(name: &str, kind: &str, output: bool, links: &[(&str, &str)]) -> NodePin {
    let links = links.iter().map(|(node, pin)| Link { node: (*node).into(), pin: (*pin).into() });
    NodePin {
        name: name.into(),
        kind: kind.into(),
        output,
        links: links.collect(),
        ..NodePin::default()
    }
}

fn value(name: &str, kind: &str, value: &str) -> NodePin {
    NodePin { value: value.into(), ..pin(name, kind, false, &[]) }
}

/// A node. The first word of its title tells its kind.
fn node(name: &str, title: &str, pins: Vec<NodePin>) -> Node {
    let (word, subject) = title.split_once(' ').unwrap_or((title, ""));
    let kind = match word {
        "Call" => NodeKind::Call,
        "Event" => NodeKind::Event,
        "Get" => NodeKind::Get,
        "Set" => NodeKind::Set,
        "Comment:" => NodeKind::Comment,
        "Reroute" => NodeKind::Reroute,
        _ => NodeKind::Other,
    };
    let (title, subject) = (title.into(), subject.into());
    Node { name: name.into(), title, kind, subject, pins, ..Node::default() }
}

fn graph(nodes: Vec<Node>) -> String {
    Graph { name: "EventGraph".into(), class: "EdGraph".into(), role: "events", nodes }
        .pseudo_code()
}

/// An event, a condition on a sum that is used twice, and two branches that meet.
fn knock() -> Vec<Node> {
    let branch = Node {
        class: "K2Node_IfThenElse".into(),
        ..node(
            "If",
            "Branch",
            vec![
                pin("execute", "exec", false, &[("Knock", "then")]),
                pin("Condition", "bool", false, &[("More", "ReturnValue")]),
                pin("then", "exec", true, &[("Print", "execute")]),
                pin("else", "exec", true, &[("Set", "execute")]),
            ],
        )
    };
    let mut nodes = vec![
        node(
            "Knock",
            "Event OnKnock",
            vec![
                pin("then", "exec", true, &[("If", "execute")]),
                pin("Force", "real", true, &[("Sum", "A")]),
            ],
        ),
        branch,
        node(
            "More",
            "Call Greater_DoubleDouble",
            vec![
                pin("A", "real", false, &[("Sum", "ReturnValue")]),
                value("B", "real", "5.000000"),
                pin("ReturnValue", "bool", true, &[("If", "Condition")]),
            ],
        ),
        node(
            "Sum",
            "Call Add_DoubleDouble",
            vec![
                pin("A", "real", false, &[("Knock", "Force")]),
                pin("B", "real", false, &[("Bend", "Out")]),
                pin("ReturnValue", "real", true, &[("More", "A"), ("Set", "Strength")]),
            ],
        ),
        node(
            "Bend",
            "Reroute",
            vec![
                pin("In", "real", false, &[("Get", "Strength")]),
                pin("Out", "real", true, &[("Sum", "B")]),
            ],
        ),
        node("Get", "Get Strength", vec![pin("Strength", "real", true, &[("Bend", "In")])]),
    ];
    nodes.extend(branches());
    nodes
}

/// The nodes of the branches.
fn branches() -> Vec<Node> {
    vec![
        node(
            "Print",
            "Call PrintString",
            vec![
                pin("execute", "exec", false, &[("If", "then")]),
                value("InString", "string", "who \"knocks\"?"),
                NodePin { is_default: true, ..value("Duration", "real", "2.0") },
                NodePin { hidden: true, ..value("Key", "name", "k") },
                pin("then", "exec", true, &[("Set", "execute")]),
            ],
        ),
        node(
            "Set",
            "Set Strength",
            vec![
                pin("execute", "exec", false, &[("If", "else"), ("Print", "then")]),
                pin("Strength", "real", false, &[("Sum", "ReturnValue")]),
                pin("then", "exec", true, &[]),
                pin("Output_Get", "real", true, &[]),
            ],
        ),
    ]
}

#[test]
fn the_flow_and_the_values_are_written() {
    let wanted = "\
graph EventGraph (events)
  @Knock Event OnKnock
  @If if (@Sum > 5)
  then:
    @Print PrintString(InString=\"who \"knocks\"?\")
    @Set Strength = @Sum
  else:
    goto @Set
  @Sum = (@Knock.Force + Strength)

";
    assert_eq!(graph(knock()), wanted);
}

#[test]
fn names_of_nodes_stay_when_others_are_added() {
    let named = |first: u32, name: &str| Node {
        guid: Guid([first, 1, 2, 3]),
        ..node(name, &format!("Call {name}"), vec![pin("then", "exec", true, &[])])
    };
    let one = graph(vec![named(0x1A2B_3C4D, "Old")]);
    assert!(one.contains("  @1A2B Old\n"), "{one}");
    let more = graph(vec![named(0x9999_0000, "New"), named(0x1A2B_3C4D, "Old")]);
    assert!(more.contains("  @1A2B Old\n") && more.contains("  @9999 New\n"), "{more}");
    // Nodes whose GUIDs begin alike have longer names. Copies that share a GUID keep their own names.
    let near = graph(vec![named(0x1A2B_0000, "New"), named(0x1A2B_3C4D, "Old")]);
    assert!(near.contains("  @1A2B3 Old\n") && near.contains("  @1A2B0 New\n"), "{near}");
    let copy = graph(vec![named(0x1A2B_3C4D, "K2Node_New_1"), named(0x1A2B_3C4D, "Old")]);
    assert!(copy.contains("  @New_1 ") && copy.contains("  @Old Old\n"), "{copy}");
}

#[test]
fn states_comments_and_faults_of_nodes_are_written() {
    let lonely = Node {
        comment: "for\nlater".into(),
        state: "Disabled".into(),
        fault: Some("damaged".into()),
        ..node("Lonely", "Call Sleep", vec![pin("execute", "exec", false, &[])])
    };
    let text = graph(vec![lonely, node("Note", "Comment: careful", vec![])]);
    let line = "  @Lonely Sleep (never executed) (Disabled)  # for later  # not all pins could be read: damaged\n";
    assert!(text.contains(line) && text.contains("  # careful\n"), "{text}");
}

#[test]
fn no_node_is_lost_and_cycles_end() {
    let link = |from: usize, to: usize| (format!("N{from}"), format!("N{to}"));
    // Nodes that execute each other, and values that use each other.
    for kind in ["exec", "real"] {
        let nodes: Vec<Node> = (0..5)
            .map(|at| {
                let ((_, next), (_, before)) = (link(at, (at + 1) % 5), link(at, (at + 4) % 5));
                node(
                    &format!("N{at}"),
                    &format!("Call Step{at}"),
                    vec![
                        pin("in", kind, false, &[(before.as_str(), "out")]),
                        pin("out", kind, true, &[(next.as_str(), "in")]),
                    ],
                )
            })
            .collect();
        let text = graph(nodes);
        for at in 0..5 {
            assert!(text.contains(&format!("Step{at}")), "{kind}: {text}");
        }
    }
    // Links to a missing node and to the node itself, and a reroute node in a cycle.
    let odd = graph(vec![
        node(
            "A",
            "Call A",
            vec![pin("x", "real", false, &[("Nobody", "y"), ("A", "z"), ("R", "o")])],
        ),
        node(
            "R",
            "Reroute",
            vec![pin("i", "real", false, &[("R", "o")]), pin("o", "real", true, &[])],
        ),
    ]);
    assert!(odd.contains("Nobody") && odd.contains("A("), "{odd}");
}

#[test]
fn shared_values_are_written_once() {
    // Each of 60 nodes uses the node before twice. Written out, the expression would have 2^60
    // values.
    let nodes: Vec<Node> = (0..60)
        .map(|at| {
            let before = format!("N{}", at - 1);
            let of = [(before.as_str(), "out")];
            let of: &[(&str, &str)] = if at == 0 { &[] } else { &of };
            node(
                &format!("N{at}"),
                "Call Combine",
                vec![
                    pin("a", "real", false, of),
                    pin("b", "real", false, of),
                    pin("out", "real", true, &[]),
                ],
            )
        })
        .collect();
    let text = graph(nodes);
    assert!(text.lines().count() < 65 && text.len() < 5_000, "{text}");
}

#[test]
fn the_title_of_a_node_does_not_decide_its_kind() {
    // Authors of rigs write the titles of nodes; the class of the node tells what it does.
    let exec = || pin("execute", "exec", false, &[]);
    let titled =
        |name: &str, title: &str, pins| Node { kind: NodeKind::Other, ..node(name, title, pins) };
    let nodes = vec![
        titled("A", "Set Transform", vec![exec(), value("Item", "FName", "foot")]),
        titled("B", "Call of nature", vec![exec()]),
        titled("C", "Comment: none", vec![exec()]),
    ];
    let whole = Graph { name: "Rig".into(), nodes, ..Graph::default() };
    assert!(whole.outline().ends_with("  other: Set Transform, Call of nature, Comment: none\n"));
    let text = whole.pseudo_code();
    for line in ["@A Set Transform(foot)", "@B Call of nature", "@C Comment: none"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn an_outline_lists_and_counts_nodes() {
    let outline =
        Graph { name: "EventGraph".into(), role: "events", nodes: knock(), ..Graph::default() };
    let wanted = "\
graph EventGraph (events), nodes: 8
  events: OnKnock
  calls: Greater_DoubleDouble, Add_DoubleDouble, PrintString
  sets: Strength
  gets: Strength
  other: Branch
";
    assert_eq!(outline.outline(), wanted);
}

#[test]
fn defaults_are_written_where_a_line_needs_them() {
    let default = |name: &str, text: &str| NodePin { is_default: true, ..value(name, "int", text) };
    let less = node(
        "Less",
        "Call Less_IntInt",
        vec![
            pin("A", "int", false, &[("Get", "Count")]),
            default("B", "0"),
            pin("ReturnValue", "bool", true, &[]),
        ],
    );
    let get = node("Get", "Get Count", vec![pin("Count", "int", true, &[("Less", "A")])]);
    let set = node("Set", "Set Count", vec![pin("then", "exec", true, &[]), default("Count", "0")]);
    let text = graph(vec![less, get, set]);
    assert!(text.contains("(Count < 0)") && text.contains("@Set Count = 0\n"), "{text}");
}
