//! Readers of std types beside those of serde.

use super::*;
use crate::schema::input::{Probe, ViaSchemars as _, via};
use serde::de::DeserializeOwned;
use std::borrow::Cow;
use std::fmt::Debug;
use std::num::{
    NonZeroI8, NonZeroI16, NonZeroI32, NonZeroI64, NonZeroI128, NonZeroIsize, NonZeroU8,
    NonZeroU16, NonZeroU32, NonZeroU64, NonZeroU128, NonZeroUsize,
};

/// Asserts that claw reads `text` as serde does: the same value, or both refuse.
fn agree<T: ToolInput + DeserializeOwned + PartialEq + Debug>(texts: &[&str]) {
    for text in texts {
        let mut cursor = Cursor::new(text);
        let ours = T::read(&mut cursor).and_then(|value| cursor.end().map(|()| value));
        let theirs = serde_json::from_str::<T>(text);
        assert_eq!(
            ours.as_ref().ok(),
            theirs.as_ref().ok(),
            "{text}: {ours:?} {theirs:?}"
        );
    }
}

#[test]
fn values_are_read_as_serde_reads_them() {
    let numbers = &[
        "0",
        "-1",
        "1",
        "127",
        "128",
        "-128",
        "-129",
        "255",
        "256",
        "65535",
        "65536",
        "2147483647",
        "2147483648",
        "4294967295",
        "4294967296",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "1.0",
        "1e3",
        "\"1\"",
        "true",
        "null",
        "[]",
        "99999999999999999999999999999999999999999999",
    ];
    agree::<i8>(numbers);
    agree::<i16>(numbers);
    agree::<i32>(numbers);
    agree::<i64>(numbers);
    agree::<u8>(numbers);
    agree::<u16>(numbers);
    agree::<u32>(numbers);
    agree::<u64>(numbers);
    agree::<usize>(numbers);
    agree::<i128>(numbers);
    agree::<u128>(numbers);
    agree::<NonZeroU8>(numbers);
    agree::<NonZeroI8>(numbers);
    agree::<NonZeroI128>(numbers);
    agree::<()>(numbers);
    agree::<Option<u32>>(numbers);
    agree::<f64>(&["0", "-1.5", "1e300", "1e999", "-0.0", "\"x\"", "null", "01"]);
    agree::<bool>(&["true", "false", "True", "0", "null"]);
    agree::<char>(&["\"a\"", "\"✓\"", "\"\\n\"", "\"\"", "\"ab\"", "1"]);
    agree::<String>(&["\"a\"", "\"\\u00e9\\n\"", "1", "null", "\"\\ud83d\\ude00\""]);
    agree::<Vec<u8>>(&["[]", "[1,2]", "[1,]", "[300]", "{}"]);
    agree::<[u8; 2]>(&["[1,2]", "[1]", "[1,2,3]"]);
    agree::<(u8, String)>(&["[1,\"a\"]", "[1]", "[1,\"a\",2]", "[]"]);
    agree::<BTreeMap<String, bool>>(&["{}", "{\"a\":true}", "{\"a\":1}", "[]"]);
    agree::<IpAddr>(&["\"127.0.0.1\"", "\"::1\"", "\"x\"", "1"]);
    agree::<PathBuf>(&["\"/a/b\"", "1"]);
    agree::<Value>(&[
        "{\"a\":[1,null,\"x\\n\",true,1.5]}",
        "[",
        "18446744073709551615",
    ]);
}

#[test]
fn what_serde_lets_pass_is_refused() {
    let refused = |outcome: Result<(), Reject>| outcome.unwrap_err().what;
    let read = |text: &'static str| Cursor::new(text);
    assert_eq!(
        refused(BTreeSet::<u8>::read(&mut read("[1,1]")).map(drop)),
        "a value given twice"
    );
    assert_eq!(
        refused(HashMap::<String, u8>::read(&mut read(r#"{"a":1,"a":2}"#)).map(drop)),
        "a name given twice"
    );
    assert_eq!(
        refused(Value::read(&mut read(r#"{"a":1,"a":2}"#)).map(drop)),
        "a name given twice"
    );
    assert_eq!(
        refused(f32::read(&mut read("1e39")).map(drop)),
        "out of range"
    );
}

#[test]
fn seconds_are_a_number() {
    assert_eq!(
        Duration::read(&mut Cursor::new("1.5")).unwrap(),
        Duration::from_millis(1_500)
    );
    assert!(Duration::read(&mut Cursor::new("-1")).is_err());
    assert!(Duration::read(&mut Cursor::new("1e300")).is_err());
    assert_eq!(Duration::from_secs(2).to_json(), Some(Value::from(2)));
}

/// The way through schemars would hide that claw does not read a type itself.
#[test]
fn std_types_are_native_in_every_nesting() {
    macro_rules! native {
        ($($t:ty),* $(,)?) => {$(
            native!(@ $t);
            native!(@ Option<$t>);
            native!(@ Vec<$t>);
            native!(@ HashMap<String, $t>);
            native!(@ BTreeMap<String, Vec<Option<$t>>>);
            native!(@ Box<$t>);
            native!(@ ($t, $t));
            native!(@ &[$t]);
        )*};
        (@ $t:ty) => {
            const _: () = {
                let source = via(&<Probe<'_, $t>>::VIA).source;
                assert!(matches!(source.node, Some(node) if !matches!(node.kind, Kind::Foreign(_))), stringify!($t));
            };
        };
    }
    native!(
        i8,
        i16,
        i32,
        i64,
        i128,
        isize,
        u8,
        u16,
        u32,
        u64,
        u128,
        usize,
        f32,
        f64,
        bool,
        char,
        String,
        PathBuf,
        Duration,
        Value,
        IpAddr,
        Ipv4Addr,
        Ipv6Addr,
        SocketAddr,
        NonZeroU8,
        NonZeroU16,
        NonZeroU32,
        NonZeroU64,
        NonZeroU128,
        NonZeroUsize,
        NonZeroI8,
        NonZeroI16,
        NonZeroI32,
        NonZeroI64,
        NonZeroI128,
        NonZeroIsize,
        (),
        Map<String, Value>,
        Box<str>,
        Arc<str>,
        Arc<u8>,
        [u8; 4],
        (u8,),
        (u8, u8, u8),
        BTreeSet<u8>,
        HashSet<String>,
    );
    native!(@ &str);
    native!(@ Cow<'_, str>);
    native!(@ Option<&str>);
    native!(@ Vec<&str>);
    // The probe does tell the two ways apart.
    const FOREIGN: Option<&Node> = via(&<Probe<'_, std::time::SystemTime>>::VIA).source.node;
    assert!(matches!(FOREIGN, Some(node) if matches!(node.kind, Kind::Foreign(_))));
}
