//! Reads the structures of curves that have native serialization: keys and names of curves in animations, and the
//! channels of sequences. Since 5.2, animations have their curves in such channels.
//!
//! The layouts are those of `FRichCurveKey::Serialize`, `FSmartName::Serialize`, and
//! `TMovieSceneCurveChannelImpl::Serialize`. The other structures of animations, such as `FRawCurveTracks` and
//! `FFloatCurve`, are tagged properties.

use crate::{
    cursor::Cursor,
    fault::CursorStop,
    layout::Layout,
    natives::{Field, NativeLayout},
    value::{Label, Property, Struct, Value},
    version::ue4,
};

const WHAT: &str = "curve";

const KEY: NativeLayout = &[
    ("InterpMode", Field::U8),
    ("TangentMode", Field::U8),
    ("TangentWeightMode", Field::U8),
    ("Time", Field::Single),
    ("Value", Field::Single),
    ("ArriveTangent", Field::Single),
    ("ArriveTangentWeight", Field::Single),
    ("LeaveTangent", Field::Single),
    ("LeaveTangentWeight", Field::Single),
];

/// Size of a key, in bytes.
const KEY_SIZE: usize = 27;

/// The members of a channel's value after its number, in the order of the engine's memory.
const TANGENT: NativeLayout = &[
    ("ArriveTangent", Field::Single),
    ("LeaveTangent", Field::Single),
    ("ArriveTangentWeight", Field::Single),
    ("LeaveTangentWeight", Field::Single),
    ("TangentWeightMode", Field::U8),
];
const MODES: NativeLayout = &[("InterpMode", Field::U8), ("TangentMode", Field::U8)];
/// Size of a channel's value in the engine's memory without its number, in bytes.
const VALUE_SIZE: usize = 24;

impl Layout {
    /// Reads a structure of that name. `None` if it is not a structure of curves, or if this package stores it as tagged
    /// properties.
    pub fn curve<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        name: &str,
    ) -> Result<Option<Vec<Property<'a>>>, CursorStop> {
        Ok(Some(match name {
            "RichCurveKey" if self.ue4 >= ue4::RICH_CURVE_KEY => self.shaped(cursor, KEY)?,
            "SmartName" => {
                let name = self.shaped(cursor, &[("DisplayName", Field::Name)])?;
                // Numbers that only the skeleton knows: an id, and a GUID.
                let unused = usize::from(self.smart_name_id) * 2;
                cursor.skip(WHAT, unused + usize::from(self.smart_name_guid) * 16)?;
                name
            }
            "MovieSceneFloatChannel" if self.native_channels => {
                self.channel(cursor, Field::Single, 4)?
            }
            "MovieSceneDoubleChannel" if self.native_channels => {
                self.channel(cursor, Field::Double, 8)?
            }
            _ => return Ok(None),
        }))
    }

    /// Reads the keys of a curve from a list that does not state the type of its items. Packages until 4.11 have such
    /// lists. `None` if the bytes are something else. The size of the list decides: an item of tagged properties cannot
    /// have the size of a key.
    pub fn untyped_keys<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        count: usize,
    ) -> Result<Option<Value<'a>>, CursorStop> {
        let fits = count.checked_mul(KEY_SIZE).is_some_and(|size| size as u64 == cursor.left());
        let versions = ue4::RICH_CURVE_KEY..ue4::ARRAY_INNER_TAG;
        if count == 0 || !fits || !versions.contains(&self.ue4) {
            return Ok(None);
        }
        let keys = (0..count).map(|_| Ok(structure(self.shaped(cursor, KEY)?)));
        Ok(Some(Value::List(keys.collect::<Result<_, CursorStop>>()?)))
    }

    /// Reads a channel whose numbers have `size` bytes.
    fn channel<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        number: Field,
        size: usize,
    ) -> Result<Vec<Property<'a>>, CursorStop> {
        let mut fields = self.shaped(
            cursor,
            &[("PreInfinityExtrap", Field::U8), ("PostInfinityExtrap", Field::U8)],
        )?;
        let times = self.list(cursor, 4, |cursor| self.field(cursor, Field::I32))?;
        let values = self.list(cursor, VALUE_SIZE + size, |cursor| self.key(cursor, number))?;
        fields.push(property("Times", times));
        fields.push(property("Values", values));
        fields.push(property("DefaultValue", self.field(cursor, number)?));
        fields.extend(self.shaped(cursor, &[("bHasDefaultValue", Field::Flag)])?);
        let rate = [("Numerator", Field::I32), ("Denominator", Field::I32)];
        fields.push(property("TickResolution", structure(self.shaped(cursor, &rate)?)));
        if self.channel_is_shown {
            fields.extend(self.shaped(cursor, &[("bShowCurve", Field::Flag)])?);
        }
        Ok(fields)
    }

    /// Reads a list that was written as a block of memory: the size of an item, then the number of items.
    fn list<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        size: usize,
        item: impl Fn(&mut Cursor<'a>) -> Result<Value<'a>, CursorStop>,
    ) -> Result<Value<'a>, CursorStop> {
        if usize::try_from(cursor.i32(WHAT)?) != Ok(size) {
            return Err(cursor.damaged("size of a key"));
        }
        let count = cursor.count(WHAT, size)?;
        let items: Result<Vec<_>, _> = (0..count).map(|_| item(cursor)).collect();
        Ok(Value::List(items?))
    }

    /// Reads a value of a channel, with the gaps that the engine's memory has between its members.
    fn key<'a>(&self, cursor: &mut Cursor<'a>, number: Field) -> Result<Value<'a>, CursorStop> {
        let mut fields = vec![property("Value", self.field(cursor, number)?)];
        fields.extend(self.shaped(cursor, TANGENT)?);
        cursor.skip(WHAT, 3)?;
        fields.extend(self.shaped(cursor, MODES)?);
        cursor.skip(WHAT, 2)?;
        Ok(structure(fields))
    }
}

fn property<'a>(name: &'static str, value: Value<'a>) -> Property<'a> {
    Property { name: Label::fixed(name), index: 0, value }
}

fn structure(fields: Vec<Property<'_>>) -> Value<'_> {
    Value::Struct(Box::new(Struct { kind: None, fields }))
}
