//! Makes titles of graph nodes, such as `Call PrintString`.

use crate::{
    graph::NodeKind,
    header::Header,
    object::{Object, get},
    render::Render,
    tables::Index,
    value::Value,
    visible::visible,
};
use std::borrow::Cow;

/// Node classes with a property that names their subject: class, property, kind, prefix of the title.
const SUBJECTS: &[(&str, &str, NodeKind, &str)] = &[
    ("K2Node_CallParentFunction", "FunctionReference", NodeKind::Call, "Call parent "),
    ("K2Node_CallFunction", "FunctionReference", NodeKind::Call, "Call "),
    ("K2Node_CallArrayFunction", "FunctionReference", NodeKind::Call, "Call "),
    ("K2Node_CallDataTableFunction", "FunctionReference", NodeKind::Call, "Call "),
    (
        "K2Node_CallMaterialParameterCollectionFunction",
        "FunctionReference",
        NodeKind::Call,
        "Call ",
    ),
    ("K2Node_CommutativeAssociativeBinaryOperator", "FunctionReference", NodeKind::Call, "Call "),
    ("K2Node_PromotableOperator", "FunctionReference", NodeKind::Call, "Call "),
    ("K2Node_Message", "FunctionReference", NodeKind::Call, "Message "),
    ("K2Node_CustomEvent", "CustomFunctionName", NodeKind::Event, "Custom event "),
    ("K2Node_ActorBoundEvent", "DelegatePropertyName", NodeKind::Event, "Event "),
    ("K2Node_ComponentBoundEvent", "DelegatePropertyName", NodeKind::Event, "Event "),
    ("K2Node_InputAction", "InputActionName", NodeKind::Input, "Input action "),
    ("K2Node_InputAxisEvent", "InputAxisName", NodeKind::Input, "Input axis "),
    ("K2Node_InputKey", "InputKey", NodeKind::Input, "Input key "),
    ("K2Node_EnhancedInputAction", "InputAction", NodeKind::Input, "Input action "),
    ("K2Node_Event", "EventReference", NodeKind::Event, "Event "),
    ("K2Node_VariableSetRef", "VariableReference", NodeKind::Set, "Set "),
    ("K2Node_VariableSet", "VariableReference", NodeKind::Set, "Set "),
    ("K2Node_VariableGet", "VariableReference", NodeKind::Get, "Get "),
    ("K2Node_MacroInstance", "MacroGraphReference", NodeKind::Macro, "Macro "),
    ("K2Node_DynamicCast", "TargetType", NodeKind::Cast, "Cast to "),
    ("K2Node_ClassDynamicCast", "TargetType", NodeKind::Cast, "Cast to class "),
    ("K2Node_AddDelegate", "DelegateReference", NodeKind::Other, "Bind to "),
    ("K2Node_RemoveDelegate", "DelegateReference", NodeKind::Other, "Unbind from "),
    ("K2Node_CallDelegate", "DelegateReference", NodeKind::Call, "Call delegate "),
    ("K2Node_CreateDelegate", "SelectedFunctionName", NodeKind::Other, "Create delegate of "),
    ("K2Node_MakeStruct", "StructType", NodeKind::Other, "Make "),
    ("K2Node_BreakStruct", "StructType", NodeKind::Other, "Break "),
    ("K2Node_SetFieldsInStruct", "StructType", NodeKind::Other, "Set members of "),
    ("K2Node_SwitchEnum", "Enum", NodeKind::Other, "Switch on "),
    ("K2Node_FunctionEntry", "FunctionReference", NodeKind::Other, "Entry "),
    ("K2Node_FunctionResult", "FunctionReference", NodeKind::Other, "Return "),
    ("EdGraphNode_Comment", "NodeComment", NodeKind::Comment, "Comment: "),
];

/// Node classes with a fixed description.
const FIXED_TITLES: &[(&str, &str)] = &[
    ("K2Node_IfThenElse", "Branch"),
    ("K2Node_ExecutionSequence", "Sequence"),
    ("K2Node_FunctionEntry", "Entry"),
    ("K2Node_FunctionResult", "Return"),
    ("K2Node_Knot", "Reroute"),
    ("K2Node_Self", "Self"),
    ("K2Node_Tunnel", "Tunnel"),
    ("K2Node_SpawnActorFromClass", "Spawn actor from class"),
    ("K2Node_MakeArray", "Make array"),
    ("K2Node_MakeMap", "Make map"),
    ("K2Node_MakeSet", "Make set"),
    ("K2Node_GetArrayItem", "Get array item"),
    ("K2Node_Select", "Select"),
    ("K2Node_FormatText", "Format text"),
    ("K2Node_CreateWidget", "Create widget"),
];

/// The title of a node, such as `Call PrintString`, and its parts.
pub struct Title {
    /// The whole title.
    pub text: String,
    /// What the node does with its subject.
    pub kind: NodeKind,
    /// The function, variable, event or other subject; empty if the node has none.
    pub subject: String,
}

impl Title {
    /// The title of a node of the graph of a Blueprint.
    pub fn of(
        render: &Render<'_, '_>,
        header: &Header<'_>,
        node: Index,
        object: &Object<'_>,
    ) -> Self {
        let class = header.class_name(node);
        if let Some(title) = about(render, header, &class, object) {
            return title;
        }
        let fixed = FIXED_TITLES.iter().find(|(name, _)| *name == class).map(|(_, text)| *text);
        let short = class.strip_prefix("K2Node_").or_else(|| class.strip_prefix("EdGraphNode_"));
        let kind = match class.as_ref() {
            "K2Node_Knot" => NodeKind::Reroute,
            "EdGraphNode_Comment" => NodeKind::Comment,
            _ => NodeKind::Other,
        };
        let text = fixed.unwrap_or_else(|| short.unwrap_or(&class));
        Self { text: visible(text, 256, false).into_owned(), kind, subject: String::new() }
    }
}

/// The title of a node with a subject; `None` if the node has no subject.
pub fn about(
    render: &Render<'_, '_>,
    header: &Header<'_>,
    class: &str,
    object: &Object<'_>,
) -> Option<Title> {
    let (_, property, kind, words) = SUBJECTS.iter().find(|(name, ..)| *name == class)?;
    let value = object.get(header, property).or_else(|| older(header, object, property))?;
    let subject = subject(render, header, value)?;
    Some(Title { text: format!("{words}{subject}"), kind: *kind, subject })
}

/// The property that names the subject in versions where member references are not structures.
fn older<'o, 'a>(
    header: &Header<'_>,
    object: &'o Object<'a>,
    property: &str,
) -> Option<&'o Value<'a>> {
    match property {
        "EventReference" => object.get(header, "EventSignatureName"),
        "FunctionReference" => object
            .get(header, "SignatureName")
            .or_else(|| object.get(header, "CustomGeneratedFunctionName")),
        _ => None,
    }
}

/// The name of the subject: a member, an object or a text.
pub fn subject(render: &Render<'_, '_>, header: &Header<'_>, value: &Value<'_>) -> Option<String> {
    if !value.fields().is_empty() {
        let members = ["MemberName", "MacroGraph", "KeyName"];
        let member = members.iter().find_map(|name| get(value.fields(), header, name))?;
        return if member.fields().is_empty() { subject(render, header, member) } else { None };
    }
    let text = if let Some(name) = value.name() {
        header.name(name)
    } else if let Some(object) = value.object() {
        header.object_name(object)
    } else if let Some(text) = value.string() {
        text.clone()
    } else {
        Cow::Owned(render.plain(value.text()?))
    };
    (!text.is_empty() && text != "None").then(|| visible(&text, 256, false).into_owned())
}

/// The comment on a node.
pub fn comment(header: &Header<'_>, object: &Object<'_>) -> String {
    let text = object.get(header, "NodeComment").and_then(Value::string);
    text.map_or_else(String::new, |text| visible(text, 2048, true).into_owned())
}

/// The enabled state of a node: `Disabled`, `DevelopmentOnly`, or empty.
pub fn state(header: &Header<'_>, object: &Object<'_>) -> String {
    // Until 4.15 the state was a boolean.
    if object.get(header, "bIsNodeEnabled") == Some(&Value::Bool(false)) {
        return "Disabled".to_owned();
    }
    let state = object.get(header, "EnabledState").and_then(Value::name);
    let state = state.map(|state| header.name(state)).unwrap_or_default();
    match state.rsplit("::").next() {
        Some("Enabled") | None => String::new(),
        Some(state) => visible(state, 64, false).into_owned(),
    }
}
