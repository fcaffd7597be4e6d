//! Reads localizable texts (`FText`): the source string and its key.

use crate::{
    cursor::Cursor,
    fault::CursorStop,
    layout::Layout,
    tables::Name,
    value::{Text, Value},
    version::ue4,
};
use std::borrow::Cow;

const WHAT: &str = "text";

impl Layout {
    /// Reads a text at nesting depth `depth`.
    pub fn text<'a>(&self, cursor: &mut Cursor<'a>, depth: usize) -> Result<Text<'a>, CursorStop> {
        if depth > crate::MAX_DEPTH {
            return Err(cursor.damaged(WHAT));
        }
        if !self.text_history() {
            return self.old_text(cursor);
        }
        cursor.skip(WHAT, 4)?;
        match cursor.i8(WHAT)? {
            -1 => {
                if self.text_invariant && cursor.flag(WHAT)? {
                    return Ok(Text::Invariant(cursor.string(WHAT)?));
                }
                Ok(Text::Empty)
            }
            0 => {
                let (namespace, key) = (cursor.string(WHAT)?, cursor.string(WHAT)?);
                let source = cursor.string(WHAT)?;
                if self.text_notes {
                    cursor.skip_string(WHAT)?;
                }
                Ok(Text::Base { namespace, key, source })
            }
            history @ 1..=3 => self.format(cursor, history, depth),
            history @ 4..=6 => self.number(cursor, history == 6, depth),
            history @ 7..=9 => self.date(cursor, history),
            10 => {
                let text = self.text(cursor, depth + 1)?;
                cursor.skip(WHAT, 1)?;
                Ok(Text::Formed(Box::new(Value::Text(Box::new(text)))))
            }
            11 => Ok(Text::Entry(Name::read(cursor, WHAT)?, cursor.string(WHAT)?)),
            _ => Err(cursor.damaged(WHAT)),
        }
    }

    /// Reads a text of a package before 4.3: source, key and flags.
    fn old_text<'a>(&self, cursor: &mut Cursor<'a>) -> Result<Text<'a>, CursorStop> {
        let source = cursor.string(WHAT)?;
        // 226: `ADDED_NAMESPACE_AND_KEY_DATA_TO_FTEXT`.
        if self.ue4 < 226 {
            return Ok(Text::Invariant(source));
        }
        let (namespace, key) = (cursor.string(WHAT)?, cursor.string(WHAT)?);
        cursor.skip(WHAT, 4)?;
        Ok(Text::Base { namespace, key, source })
    }

    fn format<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        history: i8,
        depth: usize,
    ) -> Result<Text<'a>, CursorStop> {
        let pattern = self.text(cursor, depth + 1)?;
        let count = cursor.count(WHAT, 2)?;
        let mut arguments = Vec::with_capacity(count.min(64));
        for position in 0..count {
            let name = match history {
                2 => Cow::Owned(position.to_string()),
                _ => cursor.string(WHAT)?,
            };
            let wide = history != 3 || self.text_wide;
            arguments.push((name, self.argument(cursor, wide, depth)?));
        }
        Ok(Text::Format(Box::new(pattern), arguments))
    }

    fn argument<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        wide: bool,
        depth: usize,
    ) -> Result<Value<'a>, CursorStop> {
        Ok(match cursor.u8(WHAT)? {
            0 if wide => Value::Int(cursor.i64(WHAT)?),
            0 => Value::Int(cursor.i32(WHAT)?.into()),
            1 => Value::Unsigned(cursor.u64(WHAT)?),
            2 => Value::Float(cursor.f32(WHAT)?.into()),
            3 => Value::Float(cursor.f64(WHAT)?),
            4 => Value::Text(Box::new(self.text(cursor, depth + 1)?)),
            5 => Value::Int(cursor.u8(WHAT)?.into()),
            _ => return Err(cursor.damaged(WHAT)),
        })
    }

    fn number<'a>(
        &self,
        cursor: &mut Cursor<'a>,
        currency: bool,
        depth: usize,
    ) -> Result<Text<'a>, CursorStop> {
        if currency && self.ue4 >= ue4::TEXT_CURRENCY {
            cursor.skip_string(WHAT)?;
        }
        let value = self.argument(cursor, true, depth)?;
        if cursor.flag(WHAT)? {
            // Grouping, rounding and four digit counts.
            cursor.skip(WHAT, 4 + 1 + 16 + if self.text_sign { 4 } else { 0 })?;
        }
        cursor.skip_string(WHAT)?;
        Ok(Text::Formed(Box::new(value)))
    }

    fn date<'a>(&self, cursor: &mut Cursor<'a>, history: i8) -> Result<Text<'a>, CursorStop> {
        let ticks = cursor.i64(WHAT)?;
        cursor.skip(WHAT, if history == 9 { 2 } else { 1 })?;
        if self.ue4 >= ue4::TEXT_TIME_ZONE {
            cursor.skip_string(WHAT)?;
        }
        cursor.skip_string(WHAT)?;
        Ok(Text::Formed(Box::new(Value::Int(ticks))))
    }
}
