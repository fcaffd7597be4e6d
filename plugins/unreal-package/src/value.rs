//! Values of properties, as they are stored: names and objects are still references.

use crate::{
    Guid,
    tables::{Index, Name},
};
use std::borrow::Cow;

/// How a thing is called: by the name table, or by its own text.
#[derive(Clone, Debug, PartialEq)]
pub enum Label<'a> {
    /// In the name table.
    Name(Name),
    /// As it stands.
    Text(Cow<'a, str>),
}

impl Label<'static> {
    /// A text that is known here.
    pub(crate) const fn fixed(text: &'static str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

/// A property with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Property<'a> {
    /// Its name.
    pub name: Label<'a>,
    /// Which element of a fixed array it is; otherwise 0.
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
    /// A number of single or double precision.
    Float(f64),
    /// A string.
    String(Cow<'a, str>),
    /// A name.
    Name(Name),
    /// An entry of an enumeration, by name.
    Enum(Name),
    /// A text that may be translated.
    Text(Box<Text<'a>>),
    /// An object of this package or of another.
    Object(Index),
    /// An object of any package, by its path.
    Path(Box<SoftPath<'a>>),
    /// A GUID.
    Guid(Guid),
    /// A structure.
    Struct(Box<Struct<'a>>),
    /// An array or a set.
    List(Vec<Value<'a>>),
    /// Keys and their values.
    Map(Vec<(Value<'a>, Value<'a>)>),
    /// A function of an object.
    Delegate(Index, Name),
    /// The type of a pin.
    PinType(Box<PinType<'a>>),
    /// Something that is not understood here.
    Undecoded {
        /// How large it is.
        bytes: u64,
    },
}

/// A structure.
#[derive(Clone, Debug, PartialEq)]
pub struct Struct<'a> {
    /// Its type, such as `Vector`, where it is known.
    pub kind: Option<Name>,
    /// Its members.
    pub fields: Vec<Property<'a>>,
}

/// The path of an object that need not be loaded.
#[derive(Clone, Debug, PartialEq)]
pub enum SoftPath<'a> {
    /// As a string.
    Text(Cow<'a, str>),
    /// In the package's table of such paths.
    Entry(u32),
    /// An asset by its whole path, and what is in it.
    Asset(Name, Cow<'a, str>),
    /// A package, an asset of it, and what is in that.
    Parts(Name, Name, Cow<'a, str>),
}

/// A text that may be translated.
#[derive(Clone, Debug, PartialEq)]
pub enum Text<'a> {
    /// Nothing.
    Empty,
    /// The same in every language.
    Invariant(Cow<'a, str>),
    /// With what it is translated by.
    Base {
        /// Where the key is unique.
        namespace: Cow<'a, str>,
        /// Which text.
        key: Cow<'a, str>,
        /// In the language it was written in.
        source: Cow<'a, str>,
    },
    /// An entry of a table of strings.
    Entry(Name, Cow<'a, str>),
    /// A pattern and what is filled in.
    Format(Box<Text<'a>>, Vec<(Cow<'a, str>, Value<'a>)>),
    /// Another text or value in another form: in upper case, as an amount, as a date.
    Formed(Box<Value<'a>>),
}

/// A list, a set or a map.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Container {
    /// One value.
    #[default]
    None,
    /// Several.
    Array,
    /// Several different ones.
    Set,
    /// Several by keys.
    Map,
}

/// The type of a pin or of a variable of a Blueprint.
#[derive(Clone, Debug, PartialEq)]
pub struct PinType<'a> {
    /// `exec`, `object`, `int` and so on.
    pub category: Label<'a>,
    /// More about it, such as `double` for `real`.
    pub subcategory: Label<'a>,
    /// The class, structure or enumeration.
    pub object: Index,
    /// Whether there are several.
    pub container: Container,
    /// The type of the values of a map: category, subcategory, object.
    pub values: Option<(Label<'a>, Label<'a>, Index)>,
    /// Passed by reference.
    pub reference: bool,
    /// Not to be changed.
    pub constant: bool,
}

impl<'a> Value<'a> {
    /// A whole number.
    pub fn number(&self) -> Option<i64> {
        if let Self::Int(number) = self { Some(*number) } else { None }
    }

    /// A number with or without a fraction.
    pub fn real(&self) -> Option<f64> {
        if let Self::Float(number) = self { Some(*number) } else { None }
    }

    /// An object that is there.
    pub fn object(&self) -> Option<Index> {
        if let Self::Object(object) = self { (object.0 != 0).then_some(*object) } else { None }
    }

    /// A string.
    pub fn string(&self) -> Option<&Cow<'a, str>> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// A name, also one of an enumeration.
    pub fn name(&self) -> Option<Name> {
        if let Self::Name(name) | Self::Enum(name) = self { Some(*name) } else { None }
    }

    /// A text.
    pub fn text(&self) -> Option<&Text<'a>> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The items of an array or a set; none of anything else.
    pub fn items(&self) -> &[Self] {
        if let Self::List(items) = self { items } else { &[] }
    }

    /// The members of a structure; none of anything else.
    pub fn fields(&self) -> &[Property<'a>] {
        if let Self::Struct(value) = self { &value.fields } else { &[] }
    }

    /// The type of a pin.
    pub fn pin_type(&self) -> Option<&PinType<'a>> {
        if let Self::PinType(kind) = self { Some(kind) } else { None }
    }
}

impl<'a> Text<'a> {
    /// What it says in the language it was written in; nothing where that is put together.
    pub fn source(&self) -> &str {
        match self {
            Self::Invariant(source) | Self::Base { source, .. } => source,
            Self::Empty | Self::Entry(..) | Self::Format(..) | Self::Formed(_) => "",
        }
    }
}
