//! Property values as stored; names and objects are still references.

use crate::{
    Guid,
    tables::{Index, Name},
};
use std::borrow::Cow;

/// A label: in the name table, or as text.
#[derive(Clone, Debug, PartialEq)]
pub enum Label<'a> {
    /// A reference to the name table.
    Name(Name),
    /// The text itself.
    Text(Cow<'a, str>),
}

impl Label<'static> {
    /// A constant label.
    pub(crate) const fn fixed(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

/// A property with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Property<'a> {
    /// Its name.
    pub name: Label<'a>,
    /// The index in a fixed-size array; otherwise 0.
    pub index: u32,
    /// Its value.
    pub value: Value<'a>,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value<'a> {
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A whole number that may exceed [`i64`].
    Unsigned(u64),
    /// A floating-point number of single or double precision.
    Float(f64),
    /// A string.
    String(Cow<'a, str>),
    /// A name.
    Name(Name),
    /// An entry of an enumeration.
    Enum(Name),
    /// A localizable text.
    Text(Box<Text<'a>>),
    /// An object of this package or of another.
    Object(Index),
    /// A soft object path.
    Path(Box<SoftPath<'a>>),
    /// A GUID.
    Guid(Guid),
    /// A structure.
    Struct(Box<Struct<'a>>),
    /// An array, a set or another list.
    List(Vec<Value<'a>>),
    /// A map.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// A delegate: a function of an object.
    Delegate(Index, Name),
    /// The type of a pin.
    PinType(Box<PinType<'a>>),
    /// A value that could not be decoded.
    Undecoded {
        /// Its size in bytes.
        bytes: u64,
    },
}

/// A structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct<'a> {
    /// Its type, such as `Vector`, if known.
    pub kind: Option<Name>,
    /// Its members.
    pub fields: Vec<Property<'a>>,
}

/// A soft object path.
#[derive(Clone, Debug, PartialEq)]
pub enum SoftPath<'a> {
    /// As a string.
    Text(Cow<'a, str>),
    /// As an index in the package's soft object path table.
    Entry(u32),
    /// As an asset's full path and a subobject.
    Asset(Name, Cow<'a, str>),
    /// As a package, an asset in it, and a subobject.
    Parts(Name, Name, Cow<'a, str>),
}

/// A localizable text (`FText`).
#[derive(Clone, Debug, PartialEq)]
pub enum Text<'a> {
    /// No text.
    Empty,
    /// The same in every language.
    Invariant(Cow<'a, str>),
    /// A source string with its key.
    Base {
        /// Namespace of the key.
        namespace: Cow<'a, str>,
        /// Key within the namespace.
        key: Cow<'a, str>,
        /// Source string, in the original language.
        source: Cow<'a, str>,
    },
    /// An entry of a string table.
    Entry(Name, Cow<'a, str>),
    /// A format pattern and its arguments.
    Format(Box<Text<'a>>, Vec<(Cow<'a, str>, Value<'a>)>),
    /// Another text or value that is shown in a certain form, such as in upper case, as a currency amount or as a date.
    Formed(Box<Value<'a>>),
}

/// The container kind of a pin type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Container {
    /// A single value.
    #[default]
    None,
    /// An array.
    Array,
    /// A set.
    Set,
    /// A map.
    Map,
}

/// The type of a pin or of a variable of a Blueprint.
#[derive(Clone, Debug, PartialEq)]
pub struct PinType<'a> {
    /// `exec`, `object`, `int` and so on.
    pub category: Label<'a>,
    /// Further detail, such as `double` for `real`.
    pub subcategory: Label<'a>,
    /// The class, structure or enumeration.
    pub object: Index,
    /// The container kind.
    pub container: Container,
    /// The type of the values of a map: category, subcategory, object.
    pub values: Option<(Label<'a>, Label<'a>, Index)>,
    /// Whether values are passed by reference.
    pub reference: bool,
    /// Whether values are constant.
    pub constant: bool,
}

impl<'a> Value<'a> {
    /// The integer, if the value is an [`Int`](Self::Int); `None` also for [`Unsigned`](Self::Unsigned).
    pub fn number(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    /// The floating-point number, if the value is one.
    pub fn real(&self) -> Option<f64> {
        if let Self::Float(number) = self { Some(*number) } else { None }
    }

    /// The object, if the value is one and not null.
    pub fn object(&self) -> Option<Index> {
        if let Self::Object(object) = self { (object.0 != 0).then_some(*object) } else { None }
    }

    /// The string, if the value is one.
    pub fn string(&self) -> Option<&Cow<'a, str>> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// The name, if the value is a name or an entry of an enumeration.
    pub fn name(&self) -> Option<Name> {
        if let Self::Name(name) | Self::Enum(name) = self { Some(*name) } else { None }
    }

    /// The text, if the value is one.
    pub fn text(&self) -> Option<&Text<'a>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The items of a list; empty for other values.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The members of a structure; empty for other values.
    pub fn fields(&self) -> &[Property<'a>] {
        if let Self::Struct(value) = self { &value.fields } else { &[] }
    }

    /// The pin type, if the value is one.
    pub fn pin_type(&self) -> Option<&PinType<'a>> {
        if let Self::PinType(kind) = self { Some(kind) } else { None }
    }
}

impl<'a> Text<'a> {
    /// The source string; empty if the text has none of its own.
    pub fn source(&self) -> &str {
        match self {
            Self::Invariant(source) | Self::Base { source, .. } => source,
            Self::Empty | Self::Entry(..) | Self::Format(..) | Self::Formed(_) => "",
        }
    }
}
