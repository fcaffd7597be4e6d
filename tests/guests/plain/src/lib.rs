//! A foreign component whose functions have arguments of every type.
#![expect(unsafe_code, missing_docs, reason = "what wit-bindgen generates at the border")]

wit_bindgen::generate!({ world: "plain", additional_derives: [Clone] });

use exports::guest::plain::{other, shapes};

struct Plain;

struct Counter(std::cell::Cell<u32>);

impl shapes::GuestCounter for Counter {
    fn new() -> Self {
        Self(std::cell::Cell::new(0))
    }

    fn next(&self) -> u32 {
        self.0.set(self.0.get() + 1);
        self.0.get()
    }
}

impl shapes::Guest for Plain {
    type Counter = Counter;

    fn same(value: shapes::Everything) -> shapes::Everything {
        value
    }

    fn add(a: i32, b: i32) -> i32 {
        a.wrapping_add(b)
    }

    fn nothing() {}

    fn count(one: shapes::CounterBorrow<'_>) -> u32 {
        shapes::GuestCounter::next(one.get::<Counter>())
    }
}

impl other::Guest for Plain {
    fn add(a: u8, b: Option<u8>) -> u8 {
        a.saturating_add(b.unwrap_or(1))
    }
}

impl Guest for Plain {
    fn greet(name: String) -> Result<String, String> {
        if name.is_empty() {
            Err("nobody is there".to_owned())
        } else {
            Ok(format!("Hello, {name}!"))
        }
    }
}

export!(Plain);
