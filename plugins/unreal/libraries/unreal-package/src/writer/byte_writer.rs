//! Serializes values as Unreal archives store them.

use crate::tables::Name;

/// The bytes that have been written.
#[derive(Clone, Debug, Default)]
pub struct ByteWriter(pub Vec<u8>);

impl ByteWriter {
    pub fn len(&mut self, len: usize) {
        self.u32(u32::try_from(len).expect("it is small"));
    }

    pub fn at(&self) -> usize {
        self.0.len()
    }

    pub fn bytes(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    pub fn u8(&mut self, number: u8) {
        self.0.push(number);
    }

    pub fn u32(&mut self, number: u32) {
        self.bytes(&number.to_le_bytes());
    }

    pub fn i32(&mut self, number: i32) {
        self.bytes(&number.to_le_bytes());
    }

    pub fn i64(&mut self, number: i64) {
        self.bytes(&number.to_le_bytes());
    }

    pub fn name(&mut self, name: Name) {
        self.u32(name.index);
        self.u32(name.number);
    }

    /// A string with its NUL; in UTF-16 if it is not ASCII.
    pub fn string(&mut self, text: &str) {
        if text.is_empty() {
            self.u32(0);
        } else if text.is_ascii() {
            self.len(text.len() + 1);
            self.bytes(text.as_bytes());
            self.u8(0);
        } else {
            let units: Vec<u16> = text.encode_utf16().chain([0]).collect();
            self.i32(-i32::try_from(units.len()).expect("it is small"));
            units.iter().for_each(|unit| self.bytes(&unit.to_le_bytes()));
        }
    }
}
