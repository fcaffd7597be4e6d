//! Tests with recorded reports of the linter; `tests/record.sh` records them.

mod bounds;
mod recorded;
mod rules;
