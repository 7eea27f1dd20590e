//! Formats against `gguf.quants.dequantize` of the Python package `gguf` 0.19 on random blocks.

use std::collections::BTreeMap;

use crate::provider::local::engine::format::Format;

#[derive(serde::Deserialize)]
struct Case {
    bytes: String,
    numbers: Vec<f32>,
}

#[test]
fn every_format_is_read_as_its_makers_do() {
    let cases: BTreeMap<String, Case> = serde_json::from_str(include_str!("formats.json")).unwrap();
    for (name, case) in &cases {
        let format = (0..40)
            .filter_map(Format::from_number)
            .find(|format| format.name() == name);
        let format = format.unwrap_or_else(|| panic!("no format is named {name}"));
        let hex = case.bytes.as_bytes().chunks(2);
        let bytes =
            hex.map(|hex| u8::from_str_radix(std::str::from_utf8(hex).unwrap(), 16).unwrap());
        let bytes: Vec<u8> = bytes.collect();
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
