//! Reads structures with native serialization, which are stored without property tags.

use crate::{
    Guid,
    cursor::Cursor,
    fault::CursorStop,
    layout::Layout,
    tables::{Index, Name},
    value::{Label, Property, SoftPath, Struct, Value},
    version::{ue4, ue5},
};

const WHAT: &str = "structure";

/// A field of a structure with a fixed layout.
#[derive(Clone, Copy)]
pub enum Field {
    /// Single precision until 4.27, double precision since 5.0.
    Real,
    Single,
    Double,
    U8,
    I32,
    U32,
    I64,
    Flag,
    Name,
    /// `FFrameRate`: two whole numbers.
    FrameRate,
}

pub type NativeLayout = &'static [(&'static str, Field)];

const fn xyz(field: Field) -> [(&'static str, Field); 3] {
    [("X", field), ("Y", field), ("Z", field)]
}

const fn xyzw(field: Field) -> [(&'static str, Field); 4] {
    [("X", field), ("Y", field), ("Z", field), ("W", field)]
}

const fn turn(field: Field) -> [(&'static str, Field); 3] {
    [("Pitch", field), ("Yaw", field), ("Roll", field)]
}

fn shape(name: &str) -> Option<NativeLayout> {
    use Field::{Double, I32, I64, Name, Real, Single, U8, U32};
    Some(match name {
        "Vector"
        | "Vector_NetQuantize"
        | "Vector_NetQuantize10"
        | "Vector_NetQuantize100"
        | "Vector_NetQuantizeNormal" => &const { xyz(Real) },
        "Vector3f" => &const { xyz(Single) },
        "Vector3d" => &const { xyz(Double) },
        "Vector2D" => &[("X", Real), ("Y", Real)],
        "Vector2f" | "DeprecateSlateVector2D" => &[("X", Single), ("Y", Single)],
        "Vector4" | "Quat" | "Plane" => &const { xyzw(Real) },
        "Vector4f" | "Quat4f" | "Plane4f" => &const { xyzw(Single) },
        "Vector4d" | "Quat4d" | "Plane4d" => &const { xyzw(Double) },
        "Rotator" => &const { turn(Real) },
        "Rotator3f" => &const { turn(Single) },
        "Rotator3d" => &const { turn(Double) },
        "Color" => &[("B", U8), ("G", U8), ("R", U8), ("A", U8)],
        "LinearColor" => &[("R", Single), ("G", Single), ("B", Single), ("A", Single)],
        "IntPoint" | "IntVector2" | "Int32Point" => &[("X", I32), ("Y", I32)],
        "IntVector" => &const { xyz(I32) },
        "IntVector4" => &const { xyzw(I32) },
        "DateTime" | "Timespan" => &[("Ticks", I64)],
        "FrameNumber" => &[("Value", I32)],
        "NavAgentSelector" => &[("PackedBits", U32)],
        "TopLevelAssetPath" => &[("PackageName", Name), ("AssetName", Name)],
        "SimpleCurveKey" => &[("Time", Single), ("Value", Single)],
        "Box" => &[
            ("Min.X", Real),
            ("Min.Y", Real),
            ("Min.Z", Real),
            ("Max.X", Real),
            ("Max.Y", Real),
            ("Max.Z", Real),
            ("IsValid", U8),
        ],
        "Box2D" => {
            &[("Min.X", Real), ("Min.Y", Real), ("Max.X", Real), ("Max.Y", Real), ("bIsValid", U8)]
        }
        "MovieSceneFrameRange" => &[
            ("LowerBoundType", U8),
            ("LowerBound", I32),
            ("UpperBoundType", U8),
            ("UpperBound", I32),
        ],
        "GameplayEffectVersion" => &[("CurrentVersion", U8)],
        "KeyHandleMap" => &[],
        _ => return None,
    })
}

/// The layout of the constant in a structure based on `FExpressionInput`, an input of a material or
/// an expression. The constant of a color is linear since 5.6, as packages of that version show.
fn constant(name: &str, ue5: i32) -> Option<NativeLayout> {
    use Field::{Single, U8, U32};
    Some(match name {
        "ExpressionInput" | "MaterialAttributesInput" => &[],
        "ScalarMaterialInput" => &[("Constant", Single)],
        "ColorMaterialInput" if ue5 >= ue5::LINEAR_MATERIAL_COLORS => {
            &[("R", Single), ("G", Single), ("B", Single), ("A", Single)]
        }
        "ColorMaterialInput" => &[("B", U8), ("G", U8), ("R", U8), ("A", U8)],
        "VectorMaterialInput" => &const { xyz(Single) },
        "Vector2MaterialInput" => &[("X", Single), ("Y", Single)],
        "ShadingModelMaterialInput" | "SubstrateMaterialInput" | "StrataMaterialInput" => {
            &[("Constant", U32)]
        }
        _ => return None,
    })
}

impl Layout {
    /// Reads a structure of that name. `None` if the structure has no known native serialization in
    /// packages of this version.
    pub fn native<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        name: &str,
    ) -> Result<Option<Native<'a>>, CursorStop> {
        if let Some(shape) = shape(name) {
            return Ok(Some(Native::Fields(self.shaped(cursor, shape)?)));
        }
        if let Some(fields) = self.curve(cursor, name)? {
            return Ok(Some(Native::Fields(fields)));
        }
        if let Some(constant) = constant(name, self.ue5) {
            if !self.material_inputs {
                return Ok(None);
            }
            return Ok(Some(Native::Fields(self.material_input(cursor, name, constant)?)));
        }
        Ok(Some(Native::Value(match name {
            "Guid" => Value::Guid(Guid::read(cursor)?),
            "SoftObjectPath"
            | "SoftClassPath"
            | "StringAssetReference"
            | "StringClassReference" => self.soft_path(cursor)?,
            "GameplayTagContainer" => {
                let count = cursor.count(WHAT, 8)?;
                let names = (0..count).map(|_| Name::read(cursor, WHAT).map(Value::Name));
                Value::List(names.collect::<Result<_, _>>()?)
            }
            "EdGraphPinType" if self.ue4 >= ue4::PIN_TYPE => {
                Value::PinType(Box::new(self.pin_type(cursor)?))
            }
            "PerPlatformFloat" => self.per_platform(cursor, Field::Single)?,
            "PerPlatformInt" => self.per_platform(cursor, Field::I32)?,
            "PerPlatformBool" => self.per_platform(cursor, Field::Flag)?,
            "PerPlatformFrameRate" => self.per_platform(cursor, Field::FrameRate)?,
            "Matrix" => {
                let numbers = (0..16).map(|_| self.field(cursor, Field::Real));
                Value::List(numbers.collect::<Result<_, _>>()?)
            }
            "TwoVectors" => {
                let numbers = (0..6).map(|_| self.field(cursor, Field::Real));
                Value::List(numbers.collect::<Result<_, _>>()?)
            }
            _ => return Ok(None),
        })))
    }

    /// Reads members one after another.
    pub fn shaped<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        shape: &[(&'static str, Field)],
    ) -> Result<Vec<Property<'a>>, CursorStop> {
        shape
            .iter()
            .map(|(name, field)| {
                let value = self.field(cursor, *field)?;
                Ok(Property { name: Label::fixed(name), index: 0, value })
            })
            .collect()
    }

    /// Reads a member.
    pub fn field<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        field: Field,
    ) -> Result<Value<'a>, CursorStop> {
        Ok(match field {
            Field::Real if self.large_worlds() => Value::Float(cursor.f64(WHAT)?),
            Field::Real | Field::Single => Value::Float(cursor.f32(WHAT)?.into()),
            Field::Double => Value::Float(cursor.f64(WHAT)?),
            Field::U8 => Value::Int(cursor.u8(WHAT)?.into()),
            Field::I32 => Value::Int(cursor.i32(WHAT)?.into()),
            Field::U32 => Value::Int(cursor.u32(WHAT)?.into()),
            Field::I64 => Value::Int(cursor.i64(WHAT)?),
            Field::Flag => Value::Bool(cursor.flag(WHAT)?),
            Field::Name => Value::Name(Name::read(cursor, WHAT)?),
            Field::FrameRate => {
                let rate = [("Numerator", Field::I32), ("Denominator", Field::I32)];
                let fields = self.shaped(cursor, &rate)?;
                Value::Struct(Box::new(Struct { kind: None, fields }))
            }
        })
    }

    fn material_input<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        name: &str,
        constant: NativeLayout,
    ) -> Result<Vec<Property<'a>>, CursorStop> {
        let mut fields = Vec::new();
        let mut push = |name, value| {
            fields.push(Property { name: Label::fixed(name), index: 0, value });
        };
        if !self.stripped {
            push("Expression", Value::Object(Index::read(cursor, WHAT)?));
        }
        push("OutputIndex", Value::Int(cursor.i32(WHAT)?.into()));
        if self.pins_have_names {
            push("InputName", Value::Name(Name::read(cursor, WHAT)?));
        } else {
            push("InputName", Value::String(cursor.string(WHAT)?));
        }
        // The mask of channels, then one number for each channel.
        for name in ["Mask", "MaskR", "MaskG", "MaskB", "MaskA"] {
            push(name, Value::Int(cursor.i32(WHAT)?.into()));
        }
        if self.stripped {
            push("ExpressionName", Value::Name(Name::read(cursor, WHAT)?));
        }
        if !matches!(name, "ExpressionInput" | "MaterialAttributesInput") {
            push("UseConstant", Value::Bool(cursor.flag(WHAT)?));
        }
        fields.extend(self.shaped(cursor, constant)?);
        Ok(fields)
    }

    fn per_platform<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        field: Field,
    ) -> Result<Value<'a>, CursorStop> {
        let cooked = cursor.flag(WHAT)?;
        let default = self.field(cursor, field)?;
        let mut values = vec![(Value::Bool(true), default)];
        if !cooked && !self.stripped {
            for _ in 0..cursor.count(WHAT, 12)? {
                let platform = Value::Name(Name::read(cursor, WHAT)?);
                values.push((platform, self.field(cursor, field)?));
            }
        }
        if values.len() == 1 {
            return Ok(values.remove(0).1);
        }
        Ok(Value::Map(values))
    }

    /// Reads a soft object path.
    pub fn soft_path<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Value<'a>, CursorStop> {
        let what = "soft object path";
        if self.ue5 >= ue5::SOFT_PATH_TABLE && self.soft_paths > 0 {
            return Ok(Value::Path(Box::new(SoftPath::Entry(cursor.u32(what)?))));
        }
        Ok(Value::Path(Box::new(if self.ue5 >= ue5::TOP_LEVEL_ASSET_PATH {
            let (package, asset) = (Name::read(cursor, what)?, Name::read(cursor, what)?);
            SoftPath::Parts(package, asset, cursor.string(what)?)
        } else if self.ue4 >= ue4::SOFT_OBJECT_PATH {
            SoftPath::Asset(Name::read(cursor, what)?, cursor.string(what)?)
        } else {
            SoftPath::Text(cursor.string(what)?)
        })))
    }
}

/// The content of a native structure.
pub enum Native<'a> {
    Fields(Vec<Property<'a>>),
    Value(Value<'a>),
}
