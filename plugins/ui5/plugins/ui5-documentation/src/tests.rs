//! Tests of the tools with small packs; the ranking of real pages is in `tests/questions.rs`.
