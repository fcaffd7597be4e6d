//! Commands that the families of plugins add: `portcullis FAMILY COMMAND`. The commands are made from the data of the
//! families. Each command calls one tool, as `portcullis call` does.

use clap::{ArgMatches, Args as _, Command, FromArgMatches, Subcommand};
use portcullis_core::families::{Family, FamilyCommand, Fixed};
use serde_json::{Map, Value};

use super::CommandEnd;
use super::call::{CommandCall, Printing, WantedTool};
use super::context::CommandContext;
use super::named_files::NamedFiles;

/// A command of a family with its arguments.
pub struct FamilyCall {
    family: &'static Family,
    command: &'static FamilyCommand,
    arguments: Map<String, Value>,
    files: NamedFiles,
    printing: Printing,
}

impl FamilyCall {
    pub(super) async fn run(self, context: CommandContext) -> anyhow::Result<CommandEnd> {
        let call = CommandCall {
            tool: WantedTool {
                name: self.command.tool.to_owned(),
                plugins: Some(self.family.plugins),
            },
            arguments: self.arguments,
            files: Some(self.files),
            printing: self.printing,
            always_succeeds: self.command.always_succeeds,
        };
        call.run(context).await
    }

    fn read(
        family: &'static Family,
        command: &'static FamilyCommand,
        matches: &ArgMatches,
    ) -> Result<Self, clap::Error> {
        let mut arguments = Map::new();
        let mut files = NamedFiles::default();
        add_fixed(&mut arguments, command.fixed);
        for position in command.positions {
            let Some(value) = matches.get_one::<String>(position.name) else { continue };
            if is_no_file(value) && !position.no_file.is_empty() {
                add_fixed(&mut arguments, position.no_file);
            } else if let Some(argument) = position.argument {
                arguments.insert(argument.to_owned(), value.as_str().into());
            }
        }
        for option in command.options {
            let Some(value) = matches.get_one::<String>(option.name) else { continue };
            arguments.insert(option.argument.to_owned(), value.as_str().into());
            files.root_marks.extend(option.root_mark);
        }
        let printing = Printing::from_arg_matches(matches)?;
        Ok(Self { family, command, arguments, files, printing })
    }
}

impl FromArgMatches for FamilyCall {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let no_command = || clap::Error::new(clap::error::ErrorKind::MissingSubcommand);
        let (family, matches) = matches.subcommand().ok_or_else(no_command)?;
        let family =
            Family::with_commands().find(|one| one.name == family).ok_or_else(no_command)?;
        let (command, matches) = matches.subcommand().ok_or_else(no_command)?;
        let command = family.commands.iter().find(|one| one.name == command);
        Self::read(family, command.ok_or_else(no_command)?, matches)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Subcommand for FamilyCall {
    fn augment_subcommands(command: Command) -> Command {
        command.subcommands(Family::with_commands().map(family_command))
    }

    fn augment_subcommands_for_update(command: Command) -> Command {
        Self::augment_subcommands(command)
    }

    fn has_subcommand(name: &str) -> bool {
        Family::with_commands().any(|family| family.name == name)
    }
}

/// The command with the name of a family.
fn family_command(family: &'static Family) -> Command {
    let commands = family.commands.iter().map(command_of);
    let command = Command::new(family.name).about(family.summary).subcommands(commands);
    command.subcommand_required(true).arg_required_else_help(true)
}

fn command_of(command: &'static FamilyCommand) -> Command {
    let positions = command.positions.iter().map(|position| {
        let argument = clap::Arg::new(position.name).help(position.help);
        argument.required(!position.is_optional)
    });
    let options = command.options.iter().map(|option| {
        let argument = clap::Arg::new(option.name).long(option.name).help(option.help);
        argument.value_name(option.value)
    });
    let made = Command::new(command.name).args(positions).args(options);
    // `augment_args` also sets `about`, so `about` is called after it.
    Printing::augment_args(made).about(command.help)
}

/// Whether a value is the name that git uses for a file that does not exist.
fn is_no_file(value: &str) -> bool {
    value == "/dev/null" || (cfg!(windows) && value.eq_ignore_ascii_case("nul"))
}

fn add_fixed(arguments: &mut Map<String, Value>, fixed: &[(&str, Fixed)]) {
    for (name, value) in fixed {
        let value = match value {
            Fixed::Bool(value) => Value::from(*value),
            Fixed::Number(value) => Value::from(*value),
            Fixed::Text(value) => Value::from(*value),
        };
        arguments.insert((*name).to_owned(), value);
    }
}
