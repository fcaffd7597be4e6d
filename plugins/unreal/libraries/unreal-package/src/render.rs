//! Writes values as text, in the notation of the engine's object export.

use crate::{
    header::Header,
    tables::Index,
    value::{Container, Label, PinType, Property, SoftPath, Struct, Text, Value},
    visible::visible,
};
use std::fmt::Write;

/// Maximum length of a string that is shown, in characters.
const MAX_STRING_CHARS: usize = 16_384;

/// Writes values of one package, up to a limit.
pub struct Render<'h, 'a> {
    header: &'h Header<'a>,
    package: &'h str,
    /// The text so far.
    pub out: String,
    limit: usize,
}

impl<'h, 'a> Render<'h, 'a> {
    /// Creates a writer for the package with the name `package`. After `limit` bytes, no further
    /// value is begun.
    pub fn new(header: &'h Header<'a>, package: &'h str, limit: usize) -> Self {
        Self { header, package, out: String::new(), limit }
    }

    /// Whether the limit is reached.
    pub fn is_full(&self) -> bool {
        self.out.len() >= self.limit
    }

    /// A label as text.
    pub fn label(&self, label: &Label<'_>) -> String {
        let text = match label {
            Label::Name(name) => self.header.name(*name),
            Label::Text(text) => text.clone(),
        };
        visible(&text, 512, false).into_owned()
    }

    /// An object as `/Script/Engine.Blueprint'/Game/BP_Door.BP_Door'`, or `None`.
    pub fn reference(&self, object: Index) -> String {
        if object.0 == 0 {
            return "None".to_owned();
        }
        let class = self.header.class_path(object, self.package);
        let path = self.header.path(object, self.package);
        visible(&format!("{class}'{path}'"), 2048, false).into_owned()
    }

    /// A soft path as text.
    pub fn soft_path(&self, path: &SoftPath<'_>) -> String {
        let parts = |package, asset, inner: &str| {
            let (package, asset) = (self.header.name(package), self.header.name(asset));
            match (asset.as_ref(), inner) {
                ("None", _) if package == "None" => "None".to_owned(),
                ("None", _) => package.into_owned(),
                (asset, "") => format!("{package}.{asset}"),
                (asset, inner) => format!("{package}.{asset}:{inner}"),
            }
        };
        let text = match path {
            SoftPath::Text(text) => text.clone().into_owned(),
            SoftPath::Entry(entry) => match self.header.soft_paths.get(*entry as usize) {
                Some(path) => parts(path.package, path.asset, &path.inner),
                None => "None".to_owned(),
            },
            SoftPath::Asset(asset, inner) if inner.is_empty() => {
                self.header.name(*asset).into_owned()
            }
            SoftPath::Asset(asset, inner) => format!("{}:{inner}", self.header.name(*asset)),
            SoftPath::Parts(package, asset, inner) => parts(*package, *asset, inner),
        };
        visible(&text, 2048, false).into_owned()
    }

    /// Describes the type of a pin: `array of object Actor`.
    pub fn pin_type(&self, kind: &PinType<'_>) -> String {
        let type_of = |category: &Label<'_>, subcategory: &Label<'_>, object: Index| {
            let mut text = self.label(category);
            let detail = match object.0 {
                0 => self.label(subcategory),
                _ => visible(&self.header.object_name(object), 512, false).into_owned(),
            };
            if !matches!(detail.as_str(), "" | "None") {
                text.push(' ');
                text.push_str(&detail);
            }
            text
        };
        let first = type_of(&kind.category, &kind.subcategory, kind.object);
        match (kind.container, &kind.values) {
            (Container::None, _) => first,
            (Container::Array, _) => format!("array of {first}"),
            (Container::Set, _) => format!("set of {first}"),
            (Container::Map, None) => format!("map of {first}"),
            (Container::Map, Some((category, subcategory, object))) => {
                format!("map of {first} to {}", type_of(category, subcategory, *object))
            }
        }
    }

    /// Writes a string in quotation marks.
    pub fn quoted(&mut self, text: &str) {
        self.out.push('"');
        for c in visible(text, MAX_STRING_CHARS, true).chars() {
            match c {
                '"' => self.out.push_str("\\\""),
                '\\' => self.out.push_str("\\\\"),
                '\n' => self.out.push_str("\\n"),
                '\t' => self.out.push_str("\\t"),
                c => self.out.push(c),
            }
        }
        self.out.push('"');
    }

    /// Writes a value.
    pub fn value(&mut self, value: &Value<'_>) {
        if self.is_full() {
            return;
        }
        match value {
            Value::Bool(truth) => self.out.push_str(if *truth { "True" } else { "False" }),
            Value::Int(number) => self.write(format_args!("{number}")),
            Value::Unsigned(number) => self.write(format_args!("{number}")),
            Value::Float(number) => self.write(format_args!("{number:.6}")),
            Value::String(text) => self.quoted(text),
            Value::Name(name) => self.quoted(&self.header.name(*name)),
            Value::Enum(name) => {
                let name = self.header.name(*name);
                let entry = name.rsplit("::").next().unwrap_or_default();
                self.out.push_str(&visible(entry, 512, false));
            }
            Value::Text(text) => self.text(text),
            Value::Object(object) => match object.0 {
                0 => self.out.push_str("None"),
                _ => self.quoted(&self.reference(*object)),
            },
            Value::Path(path) => self.quoted(&self.soft_path(path)),
            Value::Guid(guid) => self.write(format_args!("{guid}")),
            Value::Struct(value) => self.structure(value),
            Value::List(items) => self.list(items, |render, item| render.value(item)),
            Value::Map(entries) => self.list(entries, |render, (key, value)| {
                render.out.push('(');
                render.value(key);
                render.out.push_str(", ");
                render.value(value);
                render.out.push(')');
            }),
            Value::Delegate(object, function) => {
                let object = self.header.path(*object, self.package);
                let function = self.header.name(*function);
                self.quoted(&format!("{object}.{function}"));
            }
            Value::PinType(kind) => self.quoted(&self.pin_type(kind)),
            Value::Undecoded { bytes } => self.write(format_args!("<undecoded {bytes} bytes>")),
        }
    }

    fn write(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.out.write_fmt(arguments).expect("a String takes any text");
    }

    fn list<T>(&mut self, items: &[T], write_item: impl Fn(&mut Self, &T)) {
        self.out.push('(');
        for (position, item) in items.iter().enumerate() {
            if self.is_full() {
                break;
            }
            if position > 0 {
                self.out.push(',');
            }
            write_item(self, item);
        }
        self.out.push(')');
    }

    fn structure(&mut self, value: &Struct<'_>) {
        self.properties(&value.fields);
    }

    /// Writes properties in parentheses, like the members of a structure.
    pub fn properties(&mut self, properties: &[Property<'_>]) {
        self.list(properties, |render, Property { name, index, value }| {
            render.out.push_str(&render.label(name));
            if *index > 0 {
                render.write(format_args!("({index})"));
            }
            render.out.push('=');
            render.value(value);
        });
    }

    /// Writes a localizable text with its key.
    pub fn text(&mut self, text: &Text<'_>) {
        match text {
            Text::Empty => self.out.push_str("\"\""),
            Text::Invariant(source) => self.call("INVTEXT", &[source]),
            Text::Base { namespace, key, source } => {
                self.call("NSLOCTEXT", &[namespace, key, source]);
            }
            Text::Entry(table, key) => {
                let table = self.header.name(*table);
                self.call("LOCTABLE", &[&table, key]);
            }
            Text::Format(pattern, arguments) => {
                self.out.push_str("LOCGEN_FORMAT_NAMED(");
                self.text(pattern);
                for (name, value) in arguments {
                    if self.is_full() {
                        break;
                    }
                    self.out.push_str(", ");
                    self.quoted(name);
                    self.out.push_str(", ");
                    self.value(value);
                }
                self.out.push(')');
            }
            Text::Formed(value) => self.value(value),
        }
    }

    fn call(&mut self, function: &str, arguments: &[&str]) {
        self.out.push_str(function);
        self.out.push('(');
        for (position, argument) in arguments.iter().enumerate() {
            if position > 0 {
                self.out.push_str(", ");
            }
            self.quoted(argument);
        }
        self.out.push(')');
    }

    /// The source string of a text or of its format pattern; for an entry of a string table, the table and the key; for
    /// a transformed text or value, the original.
    pub fn plain(&self, text: &Text<'_>) -> String {
        match text {
            Text::Empty => String::new(),
            Text::Invariant(source) | Text::Base { source, .. } => {
                visible(source, 2048, false).into_owned()
            }
            Text::Entry(table, key) => {
                visible(&format!("{}.{key}", self.header.name(*table)), 2048, false).into_owned()
            }
            Text::Format(pattern, _) => self.plain(pattern),
            Text::Formed(value) => match value.text() {
                Some(text) => self.plain(text),
                None => {
                    let mut render = Render::new(self.header, self.package, 256);
                    render.value(value);
                    render.out
                }
            },
        }
    }
}
