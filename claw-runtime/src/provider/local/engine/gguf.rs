//! Reads the head of a GGUF file: its metadata and where its tensors lie.
//!
//! The format is described at <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>. Every number of the file is
//! somebody else's claim: none is allocated by, and each length and offset is compared with the file's own length before
//! anything is read. What is returned can be read without looking back: each tensor lies inside the file.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom};

use super::format::Format;

/// Bytes of metadata and tensor table together; the largest vocabularies need 20 MB.
const MOST_HEAD: u64 = 128 << 20;
/// Bytes of one text; chat templates have a few thousand.
const MOST_TEXT: u64 = 4 << 20;
/// Elements of one array; the largest vocabularies have 260,000 tokens and twice as many merges.
const MOST_ELEMENTS: u64 = 2 << 20;
/// Entries of the metadata, and of the tensor table.
const MOST_ENTRIES: u64 = 65_536;

/// What is wrong with a file, in words that name the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault(pub String);

/// Returns a [`Fault`] with a formatted text.
macro_rules! fault {
    ($($text:tt)*) => { $crate::provider::local::engine::gguf::Fault(format!($($text)*)) };
}
pub(super) use fault;

/// One value of the metadata.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    Whole(i128),
    Float(f64),
    Bool(bool),
    /// Bytes, since not every writer keeps to UTF-8.
    Text(Vec<u8>),
    Texts(Vec<Vec<u8>>),
    Numbers(Vec<f64>),
}

/// Where a tensor lies and how its numbers are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tensor {
    pub format: Format,
    /// 1 for a tensor of one dimension.
    pub rows: usize,
    pub columns: usize,
    /// Bytes from the beginning of the file.
    pub start: u64,
}

/// The head of a file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gguf {
    pub values: BTreeMap<String, Value>,
    pub tensors: BTreeMap<String, Tensor>,
}

impl Gguf {
    /// Reads the head of a file of `length` bytes.
    pub(super) fn read(file: impl Read, length: u64) -> Result<Self, Fault> {
        let mut head = Head {
            file,
            at: 0,
            length,
        };
        if head.bytes::<4>("the magic number")? != *b"GGUF" {
            return Err(fault!(
                "it does not begin with `GGUF`, so it is no GGUF file"
            ));
        }
        match head.u32("the version")? {
            2 | 3 => {}
            version if matches!(version.swap_bytes(), 1..=3) => {
                return Err(fault!("it is written big-endian; expected little-endian"));
            }
            version => return Err(fault!("it has version {version}; expected 2 or 3")),
        }
        let tensors = head.count("the number of tensors", MOST_ENTRIES)?;
        let values = head.count("the number of metadata entries", MOST_ENTRIES)?;
        let values = (0..values)
            .map(|_| head.entry())
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        let table = (0..tensors)
            .map(|_| head.tensor())
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        if table.len() as u64 != tensors {
            return Err(fault!("two tensors have the same name"));
        }
        let mut gguf = Self {
            values,
            tensors: table,
        };
        gguf.place(head.at, length)?;
        Ok(gguf)
    }

    /// Turns offsets into places of the file, all inside it.
    fn place(&mut self, head: u64, length: u64) -> Result<(), Fault> {
        let alignment = self.whole("general.alignment")?.unwrap_or(32) as u64;
        if !(alignment.is_power_of_two() && (8..=1 << 20).contains(&alignment)) {
            return Err(fault!(
                "`general.alignment` is {alignment}; expected a power of 2 from 8"
            ));
        }
        let data = head.next_multiple_of(alignment);
        for (name, tensor) in &mut self.tensors {
            let outside = || {
                fault!(
                    "tensor `{name}` lies outside the file, which has {length} bytes; the file may be cut short, so get it again"
                )
            };
            let bytes = tensor.bytes().ok_or_else(outside)?;
            let start = data.checked_add(tensor.start).ok_or_else(outside)?;
            let end = start.checked_add(bytes).ok_or_else(outside)?;
            if end > length {
                return Err(outside());
            }
            tensor.start = start;
        }
        Ok(())
    }

    /// Returns the tensor `name`, which must have this shape.
    pub(super) fn tensor(&self, name: &str, rows: usize, columns: usize) -> Result<Tensor, Fault> {
        let found = self.find(name, rows, columns)?;
        found.ok_or_else(|| fault!("tensor `{name}` is missing"))
    }

    /// Returns the tensor `name` if the file has one; it must have this shape.
    pub(super) fn find(
        &self,
        name: &str,
        rows: usize,
        columns: usize,
    ) -> Result<Option<Tensor>, Fault> {
        let Some(tensor) = self.tensors.get(name) else {
            return Ok(None);
        };
        if (tensor.rows, tensor.columns) != (rows, columns) {
            let (had, across) = (tensor.rows, tensor.columns);
            return Err(fault!(
                "tensor `{name}` has {had} × {across} numbers; expected {rows} × {columns}"
            ));
        }
        Ok(Some(*tensor))
    }

    /// Returns the whole number `key`, from 0 to what 32 bits hold.
    pub(super) fn whole(&self, key: &str) -> Result<Option<usize>, Fault> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Whole(value)) => match u32::try_from(*value) {
                Ok(value) => Ok(Some(value as usize)),
                Err(_) => Err(fault!("`{key}` is {value}; expected 0 to {}", u32::MAX)),
            },
            Some(_) => Err(fault!("`{key}` is no whole number")),
        }
    }

    /// Returns the number `key`, which is finite.
    pub(super) fn float(&self, key: &str) -> Result<Option<f32>, Fault> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Float(value)) if (*value as f32).is_finite() => Ok(Some(*value as f32)),
            Some(Value::Whole(value)) => Ok(Some(*value as f32)),
            Some(_) => Err(fault!("`{key}` is no finite number")),
        }
    }

    /// Returns the flag `key`.
    pub(super) fn flag(&self, key: &str) -> Result<Option<bool>, Fault> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(_) => Err(fault!("`{key}` is no truth value")),
        }
    }

    /// Returns the text `key`.
    pub(super) fn text(&self, key: &str) -> Result<Option<&str>, Fault> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => Ok(Some(text)),
                Err(_) => Err(fault!("`{key}` is no UTF-8 text")),
            },
            Some(_) => Err(fault!("`{key}` is no text")),
        }
    }

    /// Returns the list of texts `key`.
    pub(super) fn texts(&self, key: &str) -> Result<Option<&[Vec<u8>]>, Fault> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Texts(texts)) => Ok(Some(texts)),
            Some(Value::Numbers(none)) if none.is_empty() => Ok(Some(&[])),
            Some(_) => Err(fault!("`{key}` is no list of texts")),
        }
    }

    /// Returns the list of numbers `key`.
    pub(super) fn numbers(&self, key: &str) -> Result<Option<&[f64]>, Fault> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Numbers(numbers)) => Ok(Some(numbers)),
            Some(_) => Err(fault!("`{key}` is no list of numbers")),
        }
    }
}

impl Tensor {
    /// Returns how many bytes the tensor takes in the file, or `None` when that is no number.
    pub(super) fn bytes(&self) -> Option<u64> {
        let rows = u64::try_from(self.rows).ok()?;
        rows.checked_mul(self.row_bytes()?)
    }

    /// Reads a tensor of one row, such as the weights of a norm.
    pub(super) fn plain(
        &self,
        file: &mut (impl Read + Seek),
        name: &str,
    ) -> Result<Vec<f32>, Fault> {
        let failed = |err| fault!("tensor `{name}` cannot be read: {err}");
        file.seek(SeekFrom::Start(self.start)).map_err(failed)?;
        let mut raw = vec![0; self.columns / self.format.numbers() * self.format.bytes()];
        file.read_exact(&mut raw).map_err(failed)?;
        let mut numbers = vec![0.0; self.columns];
        self.format.read(&raw, &mut numbers);
        Ok(numbers)
    }

    /// Returns how many bytes one row takes in the file.
    pub(super) fn row_bytes(&self) -> Option<u64> {
        let blocks = (self.columns / self.format.numbers()) as u64;
        blocks.checked_mul(self.format.bytes() as u64)
    }
}

/// The part of the file before the tensors, read once from front to back.
struct Head<R> {
    file: R,
    at: u64,
    length: u64,
}

impl<R: Read> Head<R> {
    fn bytes<const N: usize>(&mut self, what: &str) -> Result<[u8; N], Fault> {
        let mut bytes = [0; N];
        self.room(N as u64, what)?;
        self.file
            .read_exact(&mut bytes)
            .map_err(|err| fault!("{what} cannot be read: {err}"))?;
        self.at += N as u64;
        Ok(bytes)
    }

    /// Checks that as many bytes can follow.
    fn room(&self, bytes: u64, what: &str) -> Result<(), Fault> {
        let end = self.at.saturating_add(bytes);
        if end > self.length {
            let length = self.length;
            return Err(fault!(
                "{what} ends after the file, which has {length} bytes"
            ));
        }
        if end > MOST_HEAD {
            return Err(fault!(
                "{what} ends after {MOST_HEAD} bytes; no known model has as large a head"
            ));
        }
        Ok(())
    }

    fn u32(&mut self, what: &str) -> Result<u32, Fault> {
        self.bytes(what).map(u32::from_le_bytes)
    }

    fn u64(&mut self, what: &str) -> Result<u64, Fault> {
        self.bytes(what).map(u64::from_le_bytes)
    }

    fn count(&mut self, what: &str, most: u64) -> Result<u64, Fault> {
        let count = self.u64(what)?;
        if count > most {
            return Err(fault!("{what} is {count}; expected {most} at most"));
        }
        Ok(count)
    }

    fn text(&mut self, what: &str) -> Result<Vec<u8>, Fault> {
        let length = self.count(&format!("the length of {what}"), MOST_TEXT)?;
        self.room(length, what)?;
        let mut text = Vec::new();
        let read = self.file.by_ref().take(length).read_to_end(&mut text);
        read.map_err(|err| fault!("{what} cannot be read: {err}"))?;
        if text.len() as u64 != length {
            return Err(fault!("{what} ends after the file"));
        }
        self.at += length;
        Ok(text)
    }

    fn name(&mut self, what: &str) -> Result<String, Fault> {
        let name = self.text(what)?;
        String::from_utf8(name).map_err(|_| fault!("{what} is no UTF-8 text"))
    }

    fn entry(&mut self) -> Result<(String, Value), Fault> {
        let key = self.name("a key of the metadata")?;
        let what = format!("`{key}`");
        let value = match self.u32(&what)? {
            8 => Value::Text(self.text(&what)?),
            9 => self.array(&what)?,
            kind => self.scalar(kind, &what)?,
        };
        Ok((key, value))
    }

    fn scalar(&mut self, kind: u32, what: &str) -> Result<Value, Fault> {
        Ok(match kind {
            0 => Value::Whole(u8::from_le_bytes(self.bytes(what)?).into()),
            1 => Value::Whole(i8::from_le_bytes(self.bytes(what)?).into()),
            2 => Value::Whole(u16::from_le_bytes(self.bytes(what)?).into()),
            3 => Value::Whole(i16::from_le_bytes(self.bytes(what)?).into()),
            4 => Value::Whole(self.u32(what)?.into()),
            5 => Value::Whole(i32::from_le_bytes(self.bytes(what)?).into()),
            6 => Value::Float(f32::from_le_bytes(self.bytes(what)?).into()),
            7 => Value::Bool(self.bytes::<1>(what)? != [0]),
            10 => Value::Whole(self.u64(what)?.into()),
            11 => Value::Whole(i64::from_le_bytes(self.bytes(what)?).into()),
            12 => Value::Float(f64::from_le_bytes(self.bytes(what)?)),
            _ => return Err(fault!("{what} has type {kind}; expected 0 to 12")),
        })
    }

    fn array(&mut self, what: &str) -> Result<Value, Fault> {
        let kind = self.u32(what)?;
        let count = self.count(&format!("the number of elements of {what}"), MOST_ELEMENTS)?;
        if kind == 8 {
            let texts = (0..count).map(|_| self.text(what));
            return Ok(Value::Texts(texts.collect::<Result<_, _>>()?));
        }
        if kind == 9 {
            return Err(fault!(
                "{what} is a list of lists, which no known model has"
            ));
        }
        let numbers = (0..count).map(|_| {
            Ok(match self.scalar(kind, what)? {
                Value::Whole(value) => value as f64,
                Value::Float(value) => value,
                Value::Bool(value) => f64::from(u8::from(value)),
                _ => 0.0,
            })
        });
        Ok(Value::Numbers(numbers.collect::<Result<_, _>>()?))
    }

    fn tensor(&mut self) -> Result<(String, Tensor), Fault> {
        let name = self.name("the name of a tensor")?;
        let what = format!("tensor `{name}`");
        let dimensions = self.u32(&what)?;
        if !(1..=2).contains(&dimensions) {
            return Err(fault!(
                "{what} has {dimensions} dimensions; expected 1 or 2"
            ));
        }
        let columns = self.size(&what)?;
        let rows = if dimensions == 2 {
            self.size(&what)?
        } else {
            1
        };
        let format = self.u32(&what)?;
        let format = Format::from_number(format).ok_or_else(|| {
            fault!(
                "{what} is written in format {format}; expected one of {}",
                Format::names()
            )
        })?;
        if columns % format.numbers() != 0 {
            let (block, format) = (format.numbers(), format.name());
            return Err(fault!(
                "{what} is {format} and has rows of {columns} numbers; expected a multiple of {block}"
            ));
        }
        let start = self.u64(&what)?;
        Ok((
            name,
            Tensor {
                format,
                rows,
                columns,
                start,
            },
        ))
    }

    /// Reads one side of a tensor.
    fn size(&mut self, what: &str) -> Result<usize, Fault> {
        let size = self.u64(what)?;
        match u32::try_from(size) {
            Ok(size) if (1..=1 << 28).contains(&size) => Ok(size as usize),
            _ => Err(fault!(
                "{what} has a side of {size} numbers; expected 1 to {}",
                1 << 28
            )),
        }
    }
}
