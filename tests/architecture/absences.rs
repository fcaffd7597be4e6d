//! Every statement of `docs/ARCHITECTURE.md` under "What is absent" names tests that hold it.
