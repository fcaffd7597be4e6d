//! Reads the commands that families add to the command line.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A command in `family.toml`. Its fields are those of `FamilyCommand` in `host/core/src/families/family.rs`.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Command {
    help: String,
    tool: String,
    #[serde(default)]
    fixed: BTreeMap<String, Fixed>,
    positions: Vec<Position>,
    #[serde(default)]
    options: Vec<CommandOption>,
    #[serde(default)]
    always_succeeds: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Position {
    name: String,
    help: String,
    argument: Option<String>,
    #[serde(default)]
    optional: bool,
    #[serde(default)]
    no_file: BTreeMap<String, Fixed>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct CommandOption {
    name: String,
    value: String,
    help: String,
    argument: String,
    root_mark: Option<String>,
}

/// A fixed value of an argument.
#[derive(Deserialize)]
#[serde(untagged)]
enum Fixed {
    Bool(bool),
    Number(i64),
    Text(String),
}

/// Generates the Rust expressions for the commands of a family, with commas between them.
pub fn expressions(commands: &BTreeMap<String, Command>) -> String {
    let command = |(name, command): (&String, &Command)| {
        let Command { help, tool, fixed, positions, options, always_succeeds } = command;
        let positions: String = positions.iter().map(position).collect();
        let options: String = options.iter().map(option).collect();
        format!(
            "FamilyCommand {{ name: {name:?}, help: {help:?}, tool: {tool:?}, fixed: &[{}], \
             positions: &[{positions}], options: &[{options}], always_succeeds: {always_succeeds} }}, ",
            values(fixed)
        )
    };
    commands.iter().map(command).collect()
}

fn position(position: &Position) -> String {
    let Position { name, help, argument, optional, no_file } = position;
    format!(
        "Position {{ name: {name:?}, help: {help:?}, argument: {argument:?}, is_optional: {optional}, \
         no_file: &[{}] }}, ",
        values(no_file)
    )
}

fn option(option: &CommandOption) -> String {
    let CommandOption { name, value, help, argument, root_mark } = option;
    format!(
        "CommandOption {{ name: {name:?}, value: {value:?}, help: {help:?}, argument: {argument:?}, \
         root_mark: {root_mark:?} }}, "
    )
}

fn values(values: &BTreeMap<String, Fixed>) -> String {
    let expression = |value: &Fixed| match value {
        Fixed::Bool(value) => format!("Fixed::Bool({value})"),
        Fixed::Number(value) => format!("Fixed::Number({value})"),
        Fixed::Text(value) => format!("Fixed::Text({value:?})"),
    };
    values.iter().map(|(name, value)| format!("({name:?}, {}), ", expression(value))).collect()
}
