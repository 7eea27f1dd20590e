//! `claw models`: what can be asked, and what it can do.

use std::fs;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::service::{Service, claw, fails};
use crate::{code, err, out};

/// Runs `models` in a folder with these settings.
fn models(settings: &str, args: &[&str]) -> Output {
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("claw.toml"), settings).unwrap();
    claw(folder.path())
        .env("OPENAI_API_KEY", "key-1234567890")
        .args(["models", "--config", "claw.toml"])
        .args(args)
        .output()
        .unwrap()
}

fn lines(output: &Output) -> Vec<Value> {
    out(output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_table_the_service_and_the_settings_say_what_a_model_can_do() {
    let service = Service::start([]);
    let root = service.root();
    let settings = format!(
        "[providers.local]\nformat = \"ollama\"\nbase_url = \"{root}\"\n\
         [providers.openai]\nbase_url = \"{root}/v1\"\nmodels = [\"gpt-5-mini\"]\n\
         [providers.openai.capabilities]\n\"*\" = {{ vision = false, window = 1000 }}\nm = {{ native_tools = false }}"
    );
    let output = models(&settings, &[]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert_eq!(
        out(&output),
        "\
model              calls   also              window
local:small        native                    4096
local:gemma2:2b    native                    4096
openai:gpt-5-mini  native  reasoning schema  1000
openai:m           prompt  schema            1000
openai:n           native  schema            1000
"
    );
    let output = models(&settings, &["openai", "--json"]);
    let found = lines(&output);
    assert_eq!(found.len(), 3);
    assert_eq!(
        (
            &found[1]["model"],
            &found[1]["protocol"],
            &found[1]["learnt"]
        ),
        (&json!("openai:m"), &json!("prompt"), &json!(false))
    );
    let capabilities = &found[0]["capabilities"];
    assert_eq!(capabilities["structured"], "schema");
    assert_eq!(capabilities["window"], 1000);
}

#[test]
fn a_dialect_that_was_refused_is_told() {
    let refusal = "Unknown name \"parametersJsonSchema\" at 'tools[0].function_declarations[0]': Cannot find field.";
    let service = Service::start([fails(400, refusal), fails(400, refusal)]);
    let folder = tempdir().unwrap();
    let settings = format!(
        "model = \"old:m\"\n[providers.old]\nformat = \"gemini\"\nbase_url = \"{}\"\nmodels = [\"m\"]",
        service.url
    );
    fs::write(folder.path().join("claw.toml"), settings).unwrap();
    let claw = |args: &[&str]| {
        let mut command = claw(folder.path());
        command.args(args).args(["--config", "claw.toml"]);
        command.output().unwrap()
    };
    let failed = claw(&["run", "hi"]);
    assert_eq!(code(&failed), Some(4), "{}", err(&failed));
    assert_eq!(service.requests().len(), 2, "asked again in the other form");
    assert!(err(&failed).contains(refusal), "{}", err(&failed));
    assert!(err(&failed).contains("hint: "), "{}", err(&failed));
    let listed = claw(&["models", "--json"]);
    let found = &lines(&listed)[0];
    assert_eq!(
        (&found["dialect"], &found["refused_dialect"]),
        (&json!("gemini-parameters"), &json!("gemini"))
    );
    let table = out(&claw(&["models"]));
    assert!(
        table.contains("native, gemini-parameters schemas (learnt)"),
        "{table}"
    );
}

#[test]
fn a_service_that_cannot_be_listed_keeps_none_of_the_others_back() {
    let service = Service::start([]);
    let settings = format!(
        "[providers.gone]\nbase_url = \"http://127.0.0.1:9/v1\"\n\
         [providers.keyless]\nbase_url = \"http://127.0.0.1:9/v1\"\nkey_env = \"UNSET_KEY\"\n\
         [providers.named]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodels = [\"x\"]\n\
         [providers.here]\nbase_url = \"{}\"\nprotocol = \"prompt\"",
        service.url
    );
    let folder = tempdir().unwrap();
    fs::write(folder.path().join("claw.toml"), &settings).unwrap();
    let output = claw(folder.path())
        .args(["models", "--config", "claw.toml", "--json"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0));
    let found = lines(&output);
    let labels: Vec<&str> = found
        .iter()
        .map(|it| it["model"].as_str().unwrap())
        .collect();
    assert_eq!(labels, ["here:m", "here:n", "named:x"]);
    assert_eq!(found[0]["protocol"], "prompt");
    assert!(err(&output).contains("cannot list the models of `gone`"));
    assert!(err(&output).contains("`UNSET_KEY` is not set"));

    let alone = models(&settings, &["gone"]);
    assert_eq!((code(&alone), out(&alone)), (Some(4), String::new()));
    assert!(err(&alone).contains("hint: name them with `models` under `[providers.gone]`"));
    let unknown = models(&settings, &["hera"]);
    assert_eq!(code(&unknown), Some(2));
    assert!(
        err(&unknown).contains("did you mean `here`?"),
        "{}",
        err(&unknown)
    );
}

#[test]
fn without_a_service_the_way_out_is_told() {
    let folder = tempdir().unwrap();
    let output = claw(folder.path()).arg("models").output().unwrap();
    assert_eq!((code(&output), out(&output)), (Some(3), String::new()));
    assert!(err(&output).contains("no model is configured"));
}
