//! Writes an object and its subobjects as text in the engine's T3D notation.

use crate::{
    object::Package,
    pins::{Pin, PinRef},
    render::Render,
    rows::Rows,
    tables::Index,
    value::{Container, Label, Property, Text},
};

/// Statistics of a T3D text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct T3dStatistics {
    /// Number of objects.
    pub objects: usize,
    /// Number of properties of these objects.
    pub properties: usize,
    /// Number of pins of nodes.
    pub pins: usize,
    /// Number of properties shown only by their size.
    pub undecoded: usize,
    /// Number of rows of tables.
    pub rows: usize,
    /// Number of bytes after the properties of objects, which only the objects' classes can read.
    pub native_bytes: u64,
    /// Whether the text was cut off at the limit.
    pub cut: bool,
}

/// A text and its statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct T3d {
    /// The text.
    pub text: String,
    /// The statistics.
    pub told: T3dStatistics,
    /// Messages about parts that could not be read.
    pub warnings: Vec<String>,
}

/// Maximum depth of nested objects.
const MAX_NESTING: usize = 32;

impl Package<'_> {
    /// An object of this package and its subobjects; for a Blueprint also its class default object.
    /// `package` is the name of this package. At most about `limit` bytes of text.
    ///
    /// The text follows the engine's notation but is not the engine's export: the first line says
    /// so.
    pub fn t3d(&self, object: Index, package: &str, limit: usize) -> T3d {
        let mut writer = Writer {
            package: self,
            name: package,
            children: self.children(),
            render: Render::new(&self.header, package, limit),
            statistics: T3dStatistics::default(),
            warnings: Vec::new(),
            too_deep: 0,
        };
        let engine = &self.header.summary.engine;
        writer.render.out.push_str(&format!(
            "; Reconstructed from the file of {package} (Unreal Engine {}.{}.{}), not exported by \
             the engine. Not for import.\n",
            engine.major, engine.minor, engine.patch
        ));
        writer.object(object, 0);
        for default in self.class_defaults(object) {
            writer.object(default, 0);
        }
        if writer.too_deep > 0 {
            writer.warnings.push(format!(
                "objects nested deeper than {MAX_NESTING} levels are left out with their subobjects ({} in all): export \
                 one of the objects above them",
                writer.too_deep
            ));
        }
        let mut statistics = writer.statistics;
        statistics.cut = writer.render.is_full();
        let mut text = writer.render.out;
        if statistics.cut {
            text.push_str("\n; … cut off here: export one of the subobjects instead.\n");
        }
        T3d { text, told: statistics, warnings: writer.warnings }
    }

    /// The subobjects of each export.
    fn children(&self) -> Vec<Vec<Index>> {
        let exports = &self.header.exports;
        let mut children = vec![Vec::new(); exports.len()];
        for (position, export) in exports.iter().enumerate() {
            if let Some(subobjects) =
                export.outer.export().and_then(|outer| children.get_mut(outer))
            {
                subobjects.push(Index::of_export(position));
            }
        }
        children
    }

    /// The class default objects of the class that an asset generates.
    fn class_defaults(&self, asset: Index) -> Vec<Index> {
        let class = format!("Default__{}_C", self.header.object_name(asset));
        let exports = self.header.exports.iter().enumerate();
        let found = exports
            .filter(|(_, export)| export.outer.0 == 0 && self.header.name(export.name) == class);
        found.map(|(position, _)| Index::of_export(position)).collect()
    }
}

struct Writer<'p, 'a> {
    package: &'p Package<'a>,
    name: &'p str,
    children: Vec<Vec<Index>>,
    render: Render<'p, 'a>,
    statistics: T3dStatistics,
    warnings: Vec<String>,
    /// How many objects are left out because they are nested too deep. Their subobjects do not count.
    too_deep: usize,
}

impl Writer<'_, '_> {
    fn object(&mut self, index: Index, depth: usize) {
        let Some(position) = index.export() else { return };
        if self.render.is_full() {
            return;
        }
        if depth > MAX_NESTING {
            self.too_deep += 1;
            return;
        }
        let header = &self.package.header;
        let object = self.package.object(index);
        self.statistics.objects += 1;
        self.statistics.undecoded += object.undecoded;
        for warning in object.warnings.iter().take(8) {
            self.warnings.push(format!("{}: {warning}", header.path_within(index)));
        }
        self.line(depth, "Begin Object Class=");
        let class = header.class_path(index, self.name);
        self.render.out.push_str(&crate::visible(&class, 1024, false));
        self.render.out.push_str(" Name=");
        self.render.quoted(&header.object_name(index));
        self.render.out.push_str(" ExportPath=");
        self.render.quoted(&self.render.reference(index));
        self.render.out.push('\n');
        let subobjects = self.children.get_mut(position).map(std::mem::take).unwrap_or_default();
        for child in subobjects {
            self.object(child, depth + 1);
        }
        for property in &object.properties {
            self.property(property, depth + 1);
        }
        for pin in &object.pins {
            self.pin(pin, depth + 1);
        }
        if let Some(rows) = &object.rows {
            self.rows(rows, depth + 1);
        }
        if let Some((at, bytes)) = object.native {
            self.statistics.native_bytes += bytes;
            self.line(
                depth + 1,
                &format!(
                    "; {bytes} bytes of class data at byte {at} of the file are not decoded\n"
                ),
            );
        }
        self.line(depth, "End Object\n");
    }

    fn line(&mut self, depth: usize, text: &str) {
        for _ in 0..depth {
            self.render.out.push_str("   ");
        }
        self.render.out.push_str(text);
    }

    /// Writes a property; an array item by item.
    fn property(&mut self, property: &Property<'_>, depth: usize) {
        if self.render.is_full() {
            return;
        }
        self.statistics.properties += 1;
        let name = self.render.label(&property.name);
        let items = property.value.items();
        for (position, item) in items.iter().enumerate() {
            if self.render.is_full() {
                return;
            }
            self.line(depth, &format!("{name}({position})="));
            self.render.value(item);
            self.render.out.push('\n');
        }
        if items.is_empty() {
            match property.index {
                0 => self.line(depth, &format!("{name}=")),
                index => self.line(depth, &format!("{name}({index})=")),
            }
            self.render.value(&property.value);
            self.render.out.push('\n');
        }
    }

    fn rows(&mut self, rows: &Rows<'_>, depth: usize) {
        match rows {
            Rows::Named(rows) => {
                for (name, properties) in rows {
                    if self.render.is_full() {
                        return;
                    }
                    self.statistics.rows += 1;
                    self.line(depth, "Row(");
                    self.label(&Label::Name(*name));
                    self.render.out.push_str(")=");
                    self.render.properties(properties);
                    self.render.out.push('\n');
                }
            }
            Rows::Strings(strings) => {
                self.line(depth, "Namespace=");
                self.render.quoted(&strings.namespace);
                self.render.out.push('\n');
                for (key, text) in &strings.entries {
                    if self.render.is_full() {
                        return;
                    }
                    self.statistics.rows += 1;
                    self.entry(depth, "Entry", key, text);
                }
                for (key, kind, remark) in &strings.remarks {
                    if self.render.is_full() {
                        return;
                    }
                    let kind = self.render.label(&Label::Name(*kind));
                    self.entry(depth, &format!("MetaData {kind}"), key, remark);
                }
            }
        }
    }

    fn entry(&mut self, depth: usize, what: &str, key: &str, text: &str) {
        self.line(depth, &format!("{what}("));
        self.render.quoted(key);
        self.render.out.push_str(")=");
        self.render.quoted(text);
        self.render.out.push('\n');
    }

    fn pin(&mut self, pin: &Pin<'_>, depth: usize) {
        if self.render.is_full() {
            return;
        }
        self.statistics.pins += 1;
        self.line(depth, &format!("CustomProperties Pin (PinId={},PinName=", pin.id));
        self.label(&pin.name);
        if pin.friendly != Text::Empty {
            self.render.out.push_str(",PinFriendlyName=");
            self.render.text(&pin.friendly);
        }
        if pin.output {
            self.render.out.push_str(",Direction=\"EGPD_Output\"");
        }
        self.pin_type(pin);
        if !pin.default.is_empty() {
            self.render.out.push_str(",DefaultValue=");
            self.render.quoted(&pin.default);
        }
        if pin.default_object.0 != 0 {
            let object = self.render.reference(pin.default_object);
            self.render.out.push_str(",DefaultObject=");
            self.render.quoted(&object);
        }
        if pin.default_text != Text::Empty {
            self.render.out.push_str(",DefaultTextValue=");
            self.render.text(&pin.default_text);
        }
        self.references("LinkedTo", &pin.links);
        self.references("SubPins", &pin.parts);
        self.references("ParentPin", pin.whole.as_slice());
        for (name, is_set) in [
            ("bHidden", pin.hidden),
            ("bNotConnectable", pin.closed),
            ("bOrphanedPin", pin.orphaned),
        ] {
            if is_set {
                self.render.out.push_str(&format!(",{name}=True"));
            }
        }
        self.render.out.push_str(")\n");
    }

    fn pin_type(&mut self, pin: &Pin<'_>) {
        let kind = &pin.kind;
        self.render.out.push_str(",PinType.PinCategory=");
        self.label(&kind.category);
        self.render.out.push_str(",PinType.PinSubCategory=");
        self.label(&kind.subcategory);
        if kind.object.0 != 0 {
            let object = self.render.reference(kind.object);
            self.render.out.push_str(",PinType.PinSubCategoryObject=");
            self.render.quoted(&object);
        }
        let container = match kind.container {
            Container::None => "",
            Container::Array => ",PinType.ContainerType=Array",
            Container::Set => ",PinType.ContainerType=Set",
            Container::Map => ",PinType.ContainerType=Map",
        };
        self.render.out.push_str(container);
        if let Some((category, ..)) = &kind.values {
            self.render.out.push_str(",PinType.PinValueType.TerminalCategory=");
            self.label(category);
        }
        for (name, is_set) in [("bIsReference", kind.reference), ("bIsConst", kind.constant)] {
            if is_set {
                self.render.out.push_str(&format!(",PinType.{name}=True"));
            }
        }
    }

    fn label(&mut self, label: &Label<'_>) {
        let text = self.render.label(label);
        self.render.quoted(if text == "None" { "" } else { &text });
    }

    fn references(&mut self, name: &str, references: &[PinRef]) {
        if references.is_empty() {
            return;
        }
        self.render.out.push_str(&format!(",{name}=("));
        for reference in references {
            let node = self.package.header.object_name(reference.node);
            let node = crate::visible(&node, 512, false).into_owned();
            self.render.out.push_str(&format!("{node} {},", reference.pin));
        }
        self.render.out.push(')');
    }
}
