//! What is called like a secret: variables, headers, fields of JSON and of forms.

use std::borrow::Cow;

use super::MASK;

/// Tells whether a variable of this name looks like one that holds a secret: `OPENAI_API_KEY`, `GITHUB_TOKEN`, `PGPASSWORD`.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    // The second key of a service is as secret as its first: `OPENAI_API_KEY_2`.
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    let anywhere = [
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "CREDENTIAL",
        "PRIVATE_KEY",
        "AUTHTOKEN",
        "WEBHOOK",
        "CONNECTION_STRING",
    ];
    let (before, last) = name.rsplit_once('_').unwrap_or(("", name));
    let last = last
        .strip_suffix('S')
        .filter(|_| last != "PASS")
        .unwrap_or(last);
    anywhere.iter().any(|part| name.contains(part))
        || matches!(last, "KEY" | "APIKEY" | "TOKEN" | "JWT" | "COOKIE")
        // By themselves these are the name of a folder, a program or a service.
        || (!before.is_empty() && matches!(last, "PASS" | "PWD" | "PAT" | "AUTH" | "DSN"))
}

/// Returns `text` with [`MASK`] in the place of what stands under the name of a secret: `api_key=…`, `"access_token": "…"`,
/// `Authorization: Bearer …`. For logs and messages; what a model or a tool says is not touched by it.
///
/// Words after a colon that may be a sentence, as in `api_key: required`, stay.
pub fn without_fields(text: &str) -> Cow<'_, str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let mut out = String::new();
    let mut done = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find(['=', ':']) {
        let sign = at + found;
        at = sign + 1;
        let before = text[done..sign].trim_end_matches([' ', '"', '\'', '\\']);
        let name = before.rsplit(|c| !is_name(c)).next().unwrap_or(before);
        if !is_field(name) {
            continue;
        }
        let Some(value) = value(text, sign) else {
            continue;
        };
        out.push_str(&text[done..value.start]);
        out.push_str(MASK);
        done = value.end;
        at = done;
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

/// Tells whether a field of this name holds a secret. Stricter than for variables: there are tokens to count and cookies to eat.
fn is_field(name: &str) -> bool {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let ends = [
        "api_key",
        "apikey",
        "access_key",
        "secret",
        "password",
        "passwd",
        "authorization",
    ];
    ends.iter().any(|end| name.ends_with(end)) || name == "token" || name.ends_with("_token")
}

/// Returns where the value behind the sign at `sign` stands, if it is one to hide.
fn value(text: &str, sign: usize) -> Option<std::ops::Range<usize>> {
    let rest = &text[sign + 1..];
    let mut start = sign + 1 + (rest.len() - rest.trim_start_matches([' ', '\\']).len());
    let quote = text[start..]
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''));
    start += usize::from(quote.is_some());
    for scheme in ["Bearer ", "bearer ", "Basic ", "basic "] {
        start += text[start..]
            .strip_prefix(scheme)
            .map_or(0, |_| scheme.len());
    }
    let ends = |c: char| match quote {
        Some(quote) => c == quote || c == '\\',
        None => c.is_whitespace() || ",;&\"'\\)}]`".contains(c),
    };
    let end = text[start..]
        .find(ends)
        .map_or(text.len(), |end| start + end);
    let value = &text[start..end];
    let is_count = value.len() < super::SHORTEST && value.bytes().all(|byte| byte.is_ascii_digit());
    let may_be_said = quote.is_none() && text.as_bytes()[sign] == b':';
    let looks_made = value.len() >= 16 || value.bytes().any(|byte| byte.is_ascii_digit());
    let is_hidden = !value.is_empty() && value != MASK && !is_count && (!may_be_said || looks_made);
    is_hidden.then_some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_that_look_like_secrets_are_known() {
        for secret in [
            "OPENAI_API_KEY",
            "OPENAI_APIKEY",
            "GITHUB_TOKEN",
            "TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "PGPASSWORD",
            "db_password",
            "CLIENT_SECRET",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "OPENAI_API_KEY_2",
            "OPENAI_KEY1",
            "API_KEYS",
            "GITHUB_APP_PRIVATE_KEY_BASE64",
            "GH_PAT",
            "SMTP_PASS",
            "MYSQL_PWD",
            "REDIS_AUTH",
            "SENTRY_DSN",
            "JWT",
            "SESSION_COOKIE",
            "GPG_PASSPHRASE",
            "SLACK_WEBHOOK_URL",
            "AZURE_STORAGE_CONNECTION_STRING",
            "npm_config__authToken",
        ] {
            assert!(is_secret_name(secret), "{secret}");
        }
        for plain in [
            "PATH",
            "HOME",
            "LANG",
            "MONKEY",
            "TOKENIZERS_PARALLELISM",
            "SSH_AUTH_SOCK",
            "XAUTHORITY",
            "PWD",
            "OLDPWD",
            "COMPASS",
            "CARGO_PKG_AUTHORS",
            "KEYBOARD",
            "_",
            "",
        ] {
            assert!(!is_secret_name(plain), "{plain}");
        }
    }

    #[test]
    fn fields_named_like_secrets_are_masked() {
        for (text, masked) in [
            ("OPENAI_API_KEY=abc rest", "OPENAI_API_KEY=*** rest"),
            (r#"{"api_key":"a b","n":1}"#, r#"{"api_key":"***","n":1}"#),
            (
                r#"{\"access_token\": \"abc\"}"#,
                r#"{\"access_token\": \"***\"}"#,
            ),
            ("authorization: Bearer abc.d1f", "authorization: Bearer ***"),
            ("x-api-key: k1", "x-api-key: ***"),
            ("?v=1&api_key=a%2Fb&x=2", "?v=1&api_key=***&x=2"),
            ("db_password='p w'", "db_password='***'"),
            ("a_token=1234567890,b_token=x", "a_token=***,b_token=***"),
        ] {
            assert_eq!(without_fields(text), masked);
        }
    }

    #[test]
    fn what_is_no_secret_stays() {
        for text in [
            "api_key: required, missing",
            "unexpected token: `foo`",
            "max_tokens=4096, prompt_token=12",
            r#"{"token": 5, "tokens": "many"}"#,
            "no signs at all",
            "api_key=",
            "api_key",
            "密码: abc",
        ] {
            assert_eq!(without_fields(text), text);
        }
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in proptest::prelude::any::<String>(), cut in "[a-z_=:\"' \\\\]{0,20}") {
            let text = format!("{cut}api_key{text}token={cut}{text}");
            let once = without_fields(&text).into_owned();
            proptest::prop_assert_eq!(without_fields(&once), once.as_str());
        }
    }
}
