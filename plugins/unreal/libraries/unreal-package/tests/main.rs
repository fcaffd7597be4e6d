//! Tests of the reader and the writer of Unreal packages.

mod bounds;
mod contents;
mod cooked;
mod corpus;
mod curves;
mod difference;
mod instanced;
mod niagara;
mod pseudo_code;
mod rigs_and_materials;
mod rows;
mod state_trees;
mod versions;
mod widgets;
