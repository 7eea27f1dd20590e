//! What a tool gives back, as far as its type is known.

use super::*;

#[derive(serde::Serialize, schemars::JsonSchema)]
struct Report {
    /// Degrees.
    warm: f64,
}

#[derive(serde::Serialize, ToolInput)]
struct Native {
    /// Degrees.
    warm: f64,
}

type Outcome<T> = Result<T, std::fmt::Error>;

/// Reports as schemars describes it.
#[tool(effect = pure)]
fn reported() -> Outcome<Report> {
    Ok(Report { warm: 1.0 })
}

/// Reports as declared.
#[expect(clippy::needless_lifetimes, reason = "a named lifetime is the case")]
#[tool(effect = pure)]
async fn declared<'a>(
    /// A text.
    text: &'a str,
) -> Result<Native, &'a str> {
    if text.is_empty() {
        Err(text)
    } else {
        Ok(Native { warm: 1.0 })
    }
}

/// Says a text, which has no output schema.
#[tool(effect = pure)]
fn said() -> Outcome<String> {
    Ok(String::new())
}

/// Gives what nothing describes.
#[tool(effect = pure)]
fn undescribed() -> Result<Value, String> {
    Ok(json!({"warm": 1}))
}

/// Gives what only serde knows.
#[tool(effect = pure)]
fn opaque() -> impl serde::Serialize {
    1
}

#[test]
fn a_result_of_a_known_type_has_an_output_schema() {
    let tools = Toolset::of(claw::tools![reported, declared, said, undescribed, opaque]).unwrap();
    let output = |name: &str| {
        let schema = tools.get(name).unwrap().output_schema()?;
        Some(serde_json::from_str::<Value>(&schema).unwrap())
    };
    for name in ["reported", "declared"] {
        let schema = output(name).unwrap();
        assert_eq!(schema["type"], json!("object"), "{name}");
        assert_eq!(
            schema["properties"]["warm"],
            json!({"type": "number", "description": "Degrees."})
        );
        assert_eq!(schema["required"], json!(["warm"]));
    }
    for name in ["said", "undescribed", "opaque"] {
        assert_eq!(output(name), None, "{name}");
    }
}
