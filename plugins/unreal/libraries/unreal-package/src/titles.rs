//! Makes titles of graph nodes, such as `Call PrintString`.

use crate::{
    header::Header,
    object::{Object, get},
    render::Render,
    tables::Index,
    value::Value,
    visible::visible,
};
use std::borrow::Cow;

/// Node classes with a property that names their subject: class, property, prefix.
const ABOUT: &[(&str, &str, &str)] = &[
    ("K2Node_CallParentFunction", "FunctionReference", "Call parent "),
    ("K2Node_CallFunction", "FunctionReference", "Call "),
    ("K2Node_CallArrayFunction", "FunctionReference", "Call "),
    ("K2Node_CallDataTableFunction", "FunctionReference", "Call "),
    ("K2Node_CallMaterialParameterCollectionFunction", "FunctionReference", "Call "),
    ("K2Node_CommutativeAssociativeBinaryOperator", "FunctionReference", "Call "),
    ("K2Node_PromotableOperator", "FunctionReference", "Call "),
    ("K2Node_Message", "FunctionReference", "Message "),
    ("K2Node_CustomEvent", "CustomFunctionName", "Custom event "),
    ("K2Node_ActorBoundEvent", "DelegatePropertyName", "Event "),
    ("K2Node_ComponentBoundEvent", "DelegatePropertyName", "Event "),
    ("K2Node_InputAction", "InputActionName", "Input action "),
    ("K2Node_InputAxisEvent", "InputAxisName", "Input axis "),
    ("K2Node_InputKey", "InputKey", "Input key "),
    ("K2Node_EnhancedInputAction", "InputAction", "Input action "),
    ("K2Node_Event", "EventReference", "Event "),
    ("K2Node_VariableSetRef", "VariableReference", "Set "),
    ("K2Node_VariableSet", "VariableReference", "Set "),
    ("K2Node_VariableGet", "VariableReference", "Get "),
    ("K2Node_MacroInstance", "MacroGraphReference", "Macro "),
    ("K2Node_DynamicCast", "TargetType", "Cast to "),
    ("K2Node_ClassDynamicCast", "TargetType", "Cast to class "),
    ("K2Node_AddDelegate", "DelegateReference", "Bind to "),
    ("K2Node_RemoveDelegate", "DelegateReference", "Unbind from "),
    ("K2Node_CallDelegate", "DelegateReference", "Call delegate "),
    ("K2Node_CreateDelegate", "SelectedFunctionName", "Create delegate of "),
    ("K2Node_MakeStruct", "StructType", "Make "),
    ("K2Node_BreakStruct", "StructType", "Break "),
    ("K2Node_SetFieldsInStruct", "StructType", "Set members of "),
    ("K2Node_SwitchEnum", "Enum", "Switch on "),
    ("K2Node_FunctionEntry", "FunctionReference", "Entry "),
    ("K2Node_FunctionResult", "FunctionReference", "Return "),
    ("EdGraphNode_Comment", "NodeComment", "Comment: "),
];

/// Node classes with a fixed description.
const ALWAYS: &[(&str, &str)] = &[
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

/// The title of a node, such as `Call PrintString`.
pub fn title(
    render: &Render<'_, '_>,
    header: &Header<'_>,
    node: Index,
    object: &Object<'_>,
) -> String {
    let class = header.class_name(node);
    let about = about(render, header, &class, object);
    let about = about.map(|(words, subject)| format!("{words}{subject}"));
    let always = || ALWAYS.iter().find(|(name, _)| *name == class).map(|(_, t)| (*t).to_owned());
    about.or_else(always).unwrap_or_else(|| {
        let short = class.strip_prefix("K2Node_").or_else(|| class.strip_prefix("EdGraphNode_"));
        visible(short.unwrap_or(&class), 256, false).into_owned()
    })
}

/// The words for a node's class, and the name of the node's subject: `Call ` and `PrintString`.
/// `None` if the node has no subject.
pub fn about(
    render: &Render<'_, '_>,
    header: &Header<'_>,
    class: &str,
    object: &Object<'_>,
) -> Option<(&'static str, String)> {
    let (_, property, words) = ABOUT.iter().find(|(name, ..)| *name == class)?;
    let value = object.get(header, property).or_else(|| older(header, object, property))?;
    Some((*words, subject(render, header, value)?))
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
