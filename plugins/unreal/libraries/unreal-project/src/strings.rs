//! An interned set of strings: each string is stored once and identified by a number.

use std::hash::{BuildHasher, RandomState};

/// The id of a string; 0 is the empty string.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(pub u32);

/// The interned strings.
#[derive(Debug)]
pub struct Strings {
    pub(crate) text: String,
    /// End offset of each string.
    pub(crate) ends: Vec<u32>,
    /// Hash table of ids, 0 for a free slot; empty until the first lookup.
    table: Vec<u32>,
    hasher: RandomState,
}

impl Default for Strings {
    fn default() -> Self {
        // The empty string is always present.
        let (text, ends) = (String::new(), vec![0]);
        Self { text, ends, table: Vec::new(), hasher: RandomState::new() }
    }
}

impl Strings {
    /// Restores stored strings; `None` if they are inconsistent.
    pub fn from_parts(text: String, ends: Vec<u32>) -> Option<Self> {
        let mut last = 0;
        for end in &ends {
            let end = *end as usize;
            if end < last || !text.is_char_boundary(end) {
                return None;
            }
            last = end;
        }
        (ends.first() == Some(&0) && last == text.len()).then(|| Self {
            text,
            ends,
            ..Self::default()
        })
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// The string with that id; empty if there is none.
    pub fn get(&self, id: Id) -> &str {
        let position = id.0 as usize;
        let (Some(end), Some(start)) =
            (self.ends.get(position), self.ends.get(position.wrapping_sub(1)))
        else {
            return "";
        };
        self.text.get(*start as usize..*end as usize).unwrap_or_default()
    }

    /// The id of a string, if present.
    pub fn find(&mut self, text: &str) -> Option<Id> {
        if text.is_empty() {
            return Some(Id(0));
        }
        self.grow_table();
        let place = self.slot_of(text);
        (self.table[place] != 0).then(|| Id(self.table[place]))
    }

    /// The id of a string, which is added if it is new. If all strings together would exceed 4 GiB,
    /// the id of the empty string is returned.
    pub fn add(&mut self, text: &str) -> Id {
        if let Some(known) = self.find(text) {
            return known;
        }
        let (Ok(end), Ok(number)) =
            (u32::try_from(self.text.len() + text.len()), u32::try_from(self.ends.len()))
        else {
            return Id(0);
        };
        self.text.push_str(text);
        self.ends.push(end);
        let place = self.free_slot_of(text);
        self.table[place] = number;
        Id(number)
    }

    /// Makes room in the table for one more string.
    fn grow_table(&mut self) {
        if self.table.len() > self.ends.len() * 2 {
            return;
        }
        self.table = vec![0; (self.ends.len() * 4).next_power_of_two().max(1024)];
        for number in 1..self.ends.len() {
            let id = u32::try_from(number).unwrap_or(0);
            let start = self.ends[number - 1] as usize;
            let end = self.ends[number] as usize;
            let hash = self.hasher.hash_one(&self.text[start..end]);
            let place = self.free_slot(hash);
            self.table[place] = id;
        }
    }

    fn free_slot(&self, hash: u64) -> usize {
        let mask = self.table.len() - 1;
        let mut place = usize::try_from(hash & mask as u64).unwrap_or(0);
        while self.table[place] != 0 {
            place = (place + 1) & mask;
        }
        place
    }

    fn free_slot_of(&self, text: &str) -> usize {
        self.free_slot(self.hasher.hash_one(text))
    }

    /// The slot of a string in the table, or the slot to insert it.
    fn slot_of(&self, text: &str) -> usize {
        let mask = self.table.len() - 1;
        let mut place = usize::try_from(self.hasher.hash_one(text) & mask as u64).unwrap_or(0);
        while self.table[place] != 0 && self.get(Id(self.table[place])) != text {
            place = (place + 1) & mask;
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_string_is_stored_once() {
        let mut strings = Strings::default();
        let ids: Vec<Id> = (0..5000).map(|n| strings.add(&format!("s{}", n % 2500))).collect();
        assert_eq!(ids[3], ids[2503]);
        assert_eq!((strings.get(ids[42]), strings.len()), ("s42", 2501));
        assert_eq!((strings.add(""), strings.get(Id(0)), strings.get(Id(9999))), (Id(0), "", ""));
        assert_eq!(strings.find("none"), None);
        let mut again = Strings::from_parts(strings.text.clone(), strings.ends.clone())
            .expect("it is the same");
        assert_eq!(again.find("s42"), Some(ids[42]));
        assert!(Strings::from_parts("ab".to_owned(), vec![0, 1]).is_none());
        assert!(Strings::from_parts("ä".to_owned(), vec![0, 1, 2]).is_none());
    }
}
