//! The storage of an API reference's symbols: a directory, or bytes that the plugin carries.

use ui5_data::{Compact, Data, Symbol};

/// The symbols of one release.
pub enum Source {
    /// In the UI5 data directory.
    Directory(Data),
    /// In the plugin.
    Carried(Compact),
}

impl Source {
    /// The symbol of a key; the key is in lower case, with dots.
    pub fn find(&mut self, key: &str) -> Result<Option<Symbol>, String> {
        match self {
            Self::Directory(data) => data.find(key),
            Self::Carried(compact) => compact.find(key),
        }
    }

    /// The numbers of the symbols of a module in a file; the module's name is in lower case.
    pub fn module(&mut self, file: u32, module: &str) -> Result<Vec<u32>, String> {
        match self {
            Self::Directory(data) => data.module(file, module),
            Self::Carried(compact) => compact.module(file, module),
        }
    }

    /// The lengths of the symbols with these numbers, in bytes and in this order.
    pub fn lengths(&mut self, numbers: &[u32]) -> Result<Vec<u32>, String> {
        match self {
            Self::Directory(data) => data.lengths(numbers),
            Self::Carried(compact) => compact.lengths(numbers),
        }
    }

    /// The symbols with these numbers, in this order, each read on demand.
    pub fn symbols(
        &mut self,
        numbers: &[u32],
    ) -> Result<Box<dyn Iterator<Item = Result<Symbol, String>> + '_>, String> {
        match self {
            Self::Directory(data) => Ok(Box::new(data.symbols(numbers)?)),
            Self::Carried(compact) => {
                let numbers = numbers.to_vec();
                Ok(Box::new(numbers.into_iter().map(|number| compact.symbol(number))))
            }
        }
    }

    /// Rebuilds the index if it is damaged. Returns whether it was damaged.
    pub fn mend(&mut self) -> Result<bool, String> {
        match self {
            Self::Directory(data) => data.mend(),
            Self::Carried(_) => Ok(false),
        }
    }

    /// The name of the symbol of a key.
    pub fn name(&mut self, key: &str) -> Option<String> {
        match self {
            Self::Directory(data) => data.name(key),
            Self::Carried(compact) => compact.name(key),
        }
    }

    /// All keys.
    pub fn keys(&mut self) -> Result<Vec<String>, String> {
        match self {
            Self::Directory(data) => data.keys(),
            Self::Carried(compact) => compact.keys(),
        }
    }
}
