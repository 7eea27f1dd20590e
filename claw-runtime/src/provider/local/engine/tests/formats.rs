//! Formats against `gguf.quants.dequantize` of the Python package `gguf` 0.19 on random blocks.

use std::collections::BTreeMap;

use crate::provider::local::engine::format::Format;

#[derive(serde::Deserialize)]
struct Case {
    bytes: String,
    numbers: Vec<f32>,
}

impl Case {
    fn raw(&self) -> Vec<u8> {
        let hex = self.bytes.as_bytes().chunks(2);
        let byte = |hex| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap();
        hex.map(byte).collect()
    }
}

#[test]
fn every_format_is_read_as_its_makers_do() {
    let cases: BTreeMap<String, Case> = serde_json::from_str(include_str!("formats.json")).unwrap();
    for (name, case) in &cases {
        let format = (0..40)
            .filter_map(Format::from_number)
            .find(|format| format.name() == name);
        let format = format.unwrap_or_else(|| panic!("no format is named {name}"));
        let bytes = case.raw();
        assert_eq!(
            bytes.len() / format.bytes() * format.numbers(),
            case.numbers.len(),
            "{name}"
        );
        let mut found = vec![0.0; case.numbers.len()];
        format.read(&bytes, &mut found);
        for (at, (found, right)) in found.iter().zip(&case.numbers).enumerate() {
            // The order of two products may differ in the last bit.
            let off = (found - right).abs();
            assert!(
                off <= right.abs() * 1e-6 + 1e-9,
                "{name}, {at}: {found}, expected {right}"
            );
        }
    }
    assert_eq!(cases.len(), 12, "all but F32, which is plain");
}

/// What is held as it is written gives the same numbers as when it is read one by one.
#[test]
fn fours_are_the_same_numbers() {
    let cases: BTreeMap<String, Case> = serde_json::from_str(include_str!("formats.json")).unwrap();
    for format in [Format::Q4_0, Format::Q4_1, Format::Q4K] {
        let case = &cases[format.name()];
        let groups = case.numbers.len() / 32;
        let (mut quants, mut scales, mut least) =
            (vec![[0; 16]; groups], vec![0.0; groups], vec![0.0; groups]);
        format.read_fours(&case.raw(), &mut quants, &mut scales, &mut least);
        for (at, right) in case.numbers.iter().enumerate() {
            let (group, place) = (at / 32, at % 32);
            let quant = quants[group][place % 16] >> (place / 16 * 4) & 15;
            let found = scales[group] * f32::from(quant) + least[group];
            assert!(
                (found - right).abs() <= right.abs() * 1e-5 + 1e-6,
                "{format:?}, {at}: {found}, expected {right}"
            );
        }
    }
}
