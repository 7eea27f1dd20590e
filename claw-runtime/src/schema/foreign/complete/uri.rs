//! References against the address they stand at (RFC 3986, section 5.2).

/// An address in its parts, without a fragment.
struct Parts<'u> {
    scheme: Option<&'u str>,
    authority: Option<&'u str>,
    path: &'u str,
    query: Option<&'u str>,
}

impl<'u> Parts<'u> {
    fn of(uri: &'u str) -> Self {
        let (uri, query) = match uri.split_once('?') {
            Some((uri, query)) => (uri, Some(query)),
            None => (uri, None),
        };
        let is_scheme = |text: &str| {
            text.starts_with(|c: char| c.is_ascii_alphabetic())
                && text
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
        };
        let (scheme, rest) = match uri.split_once(':') {
            Some((scheme, rest)) if is_scheme(scheme) => (Some(scheme), rest),
            _ => (None, uri),
        };
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => {
                let end = rest.find('/').unwrap_or(rest.len());
                (Some(&rest[..end]), &rest[end..])
            }
            None => (None, rest),
        };
        Self {
            scheme,
            authority,
            path,
            query,
        }
    }
}

/// Returns where a reference leads from `base`, and its fragment as it is written.
pub(super) fn resolve<'r>(base: &str, reference: &'r str) -> (String, &'r str) {
    let (reference, fragment) = reference.split_once('#').unwrap_or((reference, ""));
    if reference.is_empty() {
        return (base.to_owned(), fragment);
    }
    let (base, to) = (Parts::of(base), Parts::of(reference));
    let absolute = to.scheme.is_some();
    let path = if absolute || to.authority.is_some() || to.path.starts_with('/') {
        without_dots(to.path)
    } else if to.path.is_empty() {
        base.path.to_owned()
    } else {
        let folder = base.path.rfind('/').map_or(0, |at| at + 1);
        without_dots(&format!("{}{}", &base.path[..folder], to.path))
    };
    let mut uri = String::new();
    if let Some(scheme) = to.scheme.or(base.scheme) {
        uri.push_str(scheme);
        uri.push(':');
    }
    let authority = if absolute {
        to.authority
    } else {
        to.authority.or(base.authority)
    };
    if let Some(authority) = authority {
        uri.push_str("//");
        uri.push_str(authority);
        if !path.starts_with('/') && !path.is_empty() {
            uri.push('/');
        }
    }
    uri.push_str(&path);
    let kept = (!absolute && to.path.is_empty() && to.authority.is_none()).then_some(base.query);
    if let Some(query) = to.query.or(kept.flatten()) {
        uri.push('?');
        uri.push_str(query);
    }
    (uri, fragment)
}

/// Takes the steps `.` and `..` out of a path with an authority before it.
fn without_dots(path: &str) -> String {
    if !path.contains('.') {
        return path.to_owned();
    }
    let mut kept: Vec<&str> = Vec::new();
    let steps: Vec<&str> = path.split('/').collect();
    for (at, step) in steps.iter().enumerate() {
        let last = at + 1 == steps.len();
        match *step {
            "." | ".." => {
                // The empty step before a leading slash stays.
                if *step == ".." && kept.len() > 1 {
                    kept.pop();
                }
                if last {
                    kept.push("");
                }
            }
            step => kept.push(step),
        }
    }
    kept.join("/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_standard() {
        // RFC 3986, section 5.4.
        for (reference, expected) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            ("", "http://a/b/c/d;p?q"),
            (".", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../../g", "http://a/g"),
            ("g;x=1/../y", "http://a/b/c/y"),
        ] {
            let (uri, fragment) = resolve("http://a/b/c/d;p?q", reference);
            assert_eq!((uri.as_str(), fragment), (expected, ""), "{reference}");
        }
        let (uri, fragment) = resolve("urn:uuid:1", "#/a");
        assert_eq!((uri.as_str(), fragment), ("urn:uuid:1", "/a"));
    }
}
