//! What becomes of recorded reports; `tests/record.sh` records them.

mod bounds;
mod recorded;
mod rules;
