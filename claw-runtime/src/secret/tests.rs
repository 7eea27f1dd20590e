use proptest::prelude::*;

use super::*;

const KEY: &str = "sk-proj/a+b=\"c\\d\"_42";

fn secrets(of: &[&str]) -> Secrets {
    let secrets = Secrets::new();
    for secret in of {
        assert!(secrets.add(secret), "{secret}");
    }
    secrets
}

/// Cuts a text at these places and masks it piece by piece.
fn in_pieces(secrets: &Secrets, text: &str, cuts: &[usize]) -> String {
    let mut pieces = secrets.pieces();
    let mut out = String::new();
    let mut piece = String::new();
    for (at, c) in text.chars().enumerate() {
        if cuts.contains(&at) {
            out.push_str(&pieces.push(&piece));
            piece.clear();
        }
        piece.push(c);
    }
    out.push_str(&pieces.push(&piece));
    out.push_str(&pieces.finish());
    out
}

#[test]
fn a_secret_is_found_in_every_form() {
    let secrets = secrets(&[KEY]);
    // By coreutils' base64, Python's `urllib.parse.quote` and `json.dumps`.
    for form in [
        KEY,
        "sk-proj%2Fa%2Bb%3D%22c%5Cd%22_42",
        "sk-proj/a+b=%22c%5cd%22_42",
        r#"sk-proj\/a+b=\"c\\d\"_42"#,
        r"sk-proj\u002fa\u002Bb=\u0022c\u005cd\u0022_42",
        "736b2d70726f6a2f612b623d22635c64225f3432",
        "736B2D70726F6A2F612B623D22635C64225F3432",
        "sk-proj/a+b=\n\"c\\d\"\r\n_42",
    ] {
        let text = format!("a {form} b");
        assert_eq!(secrets.mask(&text), "a *** b", "{form}");
    }
    for (encoded, left) in [
        // base64 of the key alone, after "u:" and after "user:p:".
        ("c2stcHJvai9hK2I9ImNcZCJfNDI=", "***I="),
        ("dTpzay1wcm9qL2ErYj0iY1xkIl80Mg==", "dTp***g=="),
        ("dXNlcjpwOnNrLXByb2ovYStiPSJjXGQiXzQy", "dXNlcjpwOn***"),
        ("dXNlcjpwOnNrLXByb2ovYSti\nPSJjXGQiXzQy", "dXNlcjpwOn***"),
        ("c2stcHJvai9hK2I9ImNcZCJfNDI%3D", "***I%3D"),
    ] {
        assert_eq!(secrets.mask(encoded), left);
    }
    let url = Secrets::new();
    url.add("~~~~????>>>>");
    assert_eq!(url.mask("fn5-fj8_Pz8-Pj4-"), "***");
    assert_eq!(url.mask("fn5+fj8/Pz8+Pj4+"), "***");
}

#[test]
fn several_secrets_and_parts_of_one_another() {
    let secrets = secrets(&["abcdefgh", "efghijkl", "xabcdefghijkly"]);
    assert_eq!(secrets.mask("-abcdefghijkl-"), "-***-");
    assert_eq!(secrets.mask("abcdefghabcdefgh"), "******");
    assert_eq!(secrets.mask("abcdefg efghijk"), "abcdefg efghijk");
}

#[test]
fn words_are_no_secrets() {
    let secrets = Secrets::new();
    for word in [
        "",
        "  ",
        "EMPTY",
        "ollama",
        "1234567",
        "lm-studio",
        "not-needed",
    ] {
        assert!(!secrets.add(word), "{word}");
    }
    assert!(secrets.is_empty());
    assert!(secrets.add("Bearer 12345678\n"));
    assert_eq!(secrets.mask("Bearer 12345678, 12345678"), "***, ***");
    assert_eq!(format!("{secrets:?}"), "Secrets(2)");
}

#[test]
fn the_end_of_a_cut_message_may_be_a_beginning() {
    let secrets = secrets(&[KEY]);
    assert_eq!(secrets.mask_message("no: sk-proj/a…"), "no: ***…");
    assert_eq!(secrets.mask_message("no: sk-p…"), "no: sk-p…");
    assert_eq!(secrets.mask_message("no: sk-proj%2Fa…"), "no: ***…");
    assert_eq!(secrets.mask_message("no: sk-proj/a"), "no: sk-proj/a");
    assert_eq!(secrets.mask_message("api_key=abc"), "api_key=***");
}

#[test]
fn json_stays_json() {
    let secrets = secrets(&["12345678", "say \"hi\" now"]);
    for (json, masked) in [
        (r#"{"n":12345678}"#, r#"{"n":"***"}"#),
        (r#"{"a12345678":[1]}"#, r#"{"a***":[1]}"#),
        (r#"["say \"hi\" now"]"#, r#"["***"]"#),
        (
            r#"["{\"a\":\"say \\\"hi\\\" now\"}"]"#,
            r#"["{\"a\":\"***\"}"]"#,
        ),
        (r#"{"a": 1}"#, r#"{"a": 1}"#),
        (r#"{"a": 12345678"#, r#"{"a": ***"#),
    ] {
        assert_eq!(secrets.mask_json(json), masked);
    }
}

fn percent(secret: &str, all: bool) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() && !all;
    let one = |byte: u8| match plain(&byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02x}"),
    };
    secret.bytes().map(one).collect()
}

fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let bits = bytes
        .iter()
        .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1));
    let bits: Vec<u8> = bits.collect();
    let letters = bits.chunks(6).map(|six| {
        let value = (0..6).fold(0, |sum, at| sum * 2 + six.get(at).copied().unwrap_or(0));
        char::from(ALPHABET[usize::from(value)])
    });
    letters.collect()
}

proptest! {
    /// Random secrets, random forms, random cuts.
    #[test]
    fn no_secret_passes(
        secret in "[!-~]{8,60}",
        before in "[ -~]{0,20}",
        after in "[ -~\n\"]{0,20}",
        form in 0..7,
        cuts in proptest::collection::vec(0_usize..200, 0..6),
    ) {
        prop_assume!(!PLACEHOLDERS.contains(&secret.as_str()));
        let secrets = secrets(&[&secret]);
        let shown = match form {
            0 => secret.clone(),
            1 => percent(&secret, false),
            2 => percent(&secret, true).to_uppercase(),
            3 => {
                let quoted = serde_json::to_string(&secret).unwrap();
                quoted[1..quoted.len() - 1].to_owned()
            },
            4 => secret.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect(),
            5 => secret.bytes().map(|byte| format!("{byte:02x}")).collect(),
            _ => base64(format!("{before}{secret}").as_bytes()),
        };
        // What stands before must not make another escape of the form's first bytes.
        let before = before.replace(['\\', '%'], " ");
        let text = format!("{before}{shown}{after}");
        let whole = secrets.mask(&text).into_owned();
        prop_assert!(whole.contains(MASK), "{} in {}", shown, whole);
        if form < 6 {
            prop_assert!(!whole.contains(&shown), "{}", whole);
        }
        prop_assert_eq!(&in_pieces(&secrets, &text, &cuts), &whole);
        let shown = format!("{secrets:?} {:?}", secrets.pieces());
        prop_assert!(!shown.contains(&secret));
    }

    #[test]
    fn text_without_secrets_stays_and_nothing_panics(
        text in any::<String>(),
        noise in "[a-c%\\\\u0-9\n\"]{0,60}",
        cuts in proptest::collection::vec(0_usize..80, 0..8),
    ) {
        let known = secrets(&["abcabcab", "aaaaaaaaab", "ü-ñ-漢-字"]);
        for text in [&text, &noise, &format!("{noise}{text}")] {
            let whole = known.mask(text).into_owned();
            prop_assert_eq!(&in_pieces(&known, text, &cuts), &whole);
            prop_assert_eq!(Secrets::new().mask(text), text.as_str());
            known.mask_json(text);
            known.mask_message(text);
        }
    }
}
