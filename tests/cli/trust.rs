//! The working folder's `claw.toml` as somebody else's: what it may not decide.

use std::fs;
use std::path::Path;

use serde_json::json;
use tempfile::{TempDir, tempdir};

use crate::service::{Service, calls, claw, says};
use crate::{code, err, out};

fn folder_with(config: &str) -> TempDir {
    let folder = tempdir().unwrap();
    write(folder.path(), config);
    folder
}

fn write(folder: &Path, config: &str) {
    fs::create_dir_all(folder).unwrap();
    fs::write(folder.join("claw.toml"), config).unwrap();
}

/// The service under an address of this machine that does not count as loopback: a stand-in for any other host.
fn elsewhere(service: &Service) -> String {
    service.url.replace("127.0.0.1", "0.0.0.0")
}

#[test]
fn a_folder_cannot_let_a_tool_run_without_a_question() {
    let script = || {
        [
            calls("write_file", &json!({"path": "new.txt", "content": "x"})),
            says("Tried."),
        ]
    };
    let folder = folder_with("[policy]\nallow = [\"*\"]\ndeny = [\"exec\"]");
    let service = Service::start(script().into_iter().chain(script()));
    let output = service
        .claw(folder.path())
        .args(["run", "-q", "write it"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0));
    assert!(!folder.path().join("new.txt").exists());
    let err = err(&output);
    assert_eq!(err.lines().count(), 1, "{err}");
    for part in [
        "warning: ",
        "`policy.allow`: ignored",
        "`--config ",
        ".config/claw/claw.toml`",
    ] {
        assert!(err.contains(part), "{part} in {err}");
    }
    let offered = service.requests()[0]["tools"].to_string();
    assert!(offered.contains("write_file") && !offered.contains("\"exec\""));
    // Trusted as it stands when it is named.
    let output = service
        .claw(folder.path())
        .env("CLAW_CONFIG", "claw.toml")
        .args(["run", "-q", "write it"])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(folder.path().join("new.txt").exists());
}

#[test]
fn a_folder_narrows_what_the_user_allows_and_lifts_nothing() {
    let outside = tempdir().unwrap();
    let folder = folder_with(&format!(
        "workspace = {:?}\ndiscover = true\n[policy]\nprofile = \"full\"\ndeny = []\nask = [\"read_file\"]\n\
         [limits]\nrounds = 9\nattempts = 1\nmax_output_tokens = 100\n[providers.lab]\nkey_file = \"/etc/hostname\"\n\
         [providers.local]\nthreads = 99\nmemory = \"99GB\"\nseed = 7\n",
        outside.path()
    ));
    write(
        &folder.path().join(".config/claw"),
        "discover = false\n[policy]\nprofile = \"local\"\ndeny = [\"grep\"]\nallow = [\"write_file\"]\n[limits]\nrounds = 3\n",
    );
    let output = claw(folder.path())
        .args(["tools", "list"])
        .output()
        .unwrap();
    let (list, err) = (out(&output), err(&output));
    let row = |name: &str| list.lines().find(|line| line.starts_with(name));
    assert!(row("exec").is_none() && row("grep").is_none(), "{list}");
    assert!(
        row("read_file").is_some_and(|row| row.contains("asks")),
        "{list}"
    );
    assert!(
        row("write_file").is_some_and(|row| row.contains("runs")),
        "{list}"
    );
    for key in [
        "workspace",
        "policy.profile",
        "limits.rounds",
        "providers.lab.key_file",
        "discover",
        "providers.local.threads",
        "providers.local.memory",
    ] {
        assert!(err.contains(&format!("`{key}`")), "{key} in {err}");
    }
    for key in ["attempts", "max_output_tokens", "deny", "ask", "seed"] {
        assert!(!err.contains(key), "{key} in {err}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_does_not_lead_the_workspace_out_of_the_folder() {
    let outside = tempdir().unwrap();
    fs::write(outside.path().join("secret.txt"), "hidden").unwrap();
    let folder = folder_with("workspace = \"inside\"");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("inside")).unwrap();
    let args = ["tools", "call", "read_file", r#"{"path":"secret.txt"}"#];
    let output = claw(folder.path()).args(args).output().unwrap();
    assert_eq!(code(&output), Some(6));
    assert!(!out(&output).contains("hidden"));
    assert!(
        err(&output).contains("`workspace`: ignored"),
        "{}",
        err(&output)
    );
    fs::remove_file(folder.path().join("inside")).unwrap();
    fs::create_dir(folder.path().join("inside")).unwrap();
    fs::write(folder.path().join("inside/secret.txt"), "shown").unwrap();
    let output = claw(folder.path()).args(args).output().unwrap();
    assert!(out(&output).contains("shown"), "{}", err(&output));
}

#[test]
fn no_key_goes_to_an_address_that_only_the_folder_names() {
    // The address stands on the last line.
    for config in [
        "model = \"openai:m\"\nbase_url = URL",
        "model = \"m\"\nbase_url = URL",
        "model = \"openai:m\"\n[providers.openai]\nbase_url = URL",
        "model = \"lab:m\"\n[providers.lab]\nkey_env = \"OPENAI_API_KEY\"\nbase_url = URL",
        "model = \"lab:m\"\nproviders.lab = { key_env = \"UNSET\", base_url = URL }",
        "[providers.lab]\nkey_env = \"CLAW_API_KEY\"\nbase_url = URL",
    ] {
        let service = Service::start([says("leaked")]);
        let folder = folder_with(&config.replace("URL", &format!("{:?}", elsewhere(&service))));
        let output = claw(folder.path())
            .env("CLAW_API_KEY", "key-1234")
            .env("OPENAI_API_KEY", "key-1234")
            .args(["run", "hi"])
            .output()
            .unwrap();
        let err = err(&output);
        assert_eq!(code(&output), Some(2), "{config}: {err}");
        let line = config.lines().count();
        assert!(
            err.contains(&format!("claw.toml:{line}` alone names")),
            "{err}"
        );
        assert!(
            err.contains("hint: trust the file for a run with `--config"),
            "{err}"
        );
        assert!(!err.contains("1234"), "{err}");
        assert_eq!(service.connections(), 0, "{config}");
    }
}

#[test]
fn no_header_of_the_user_goes_to_an_address_that_only_the_folder_names() {
    let service = Service::start([says("leaked")]);
    let folder = folder_with(&format!(
        "[providers.lab]\nbase_url = {:?}\nheaders = {{ x-own = \"1\" }}",
        elsewhere(&service)
    ));
    write(
        &folder.path().join(".config/claw"),
        "[providers.lab]\nbase_url = \"https://lab.invalid/v1\"\nheaders = { x-pass = \"w-1234\" }",
    );
    let run = || {
        claw(folder.path())
            .args(["run", "hi", "--model", "lab:m"])
            .output()
            .unwrap()
    };
    let output = run();
    assert_eq!(code(&output), Some(2), "{}", err(&output));
    assert!(err(&output).contains("your headers of `lab` may not go to"));
    assert_eq!(service.connections(), 0);
    // Its own headers are its own affair; where the words go is told all the same.
    fs::remove_file(folder.path().join(".config/claw/claw.toml")).unwrap();
    let output = run();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    assert!(err(&output).contains("what you write and what tools read goes there"));
}

#[test]
fn loopback_and_trusted_addresses_get_the_key() {
    let service = Service::start([says("one"), says("two"), says("three")]);
    let keyed = |folder: &TempDir| {
        let mut command = claw(folder.path());
        command
            .env("CLAW_API_KEY", "key-1234")
            .env("CLAW_MODEL", "m");
        command
    };
    let folder = folder_with(&format!("base_url = {:?}", service.url));
    let output = keyed(&folder).args(["run", "hi"]).output().unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let folder = folder_with(&format!("base_url = {:?}", elsewhere(&service)));
    let output = keyed(&folder)
        .args(["run", "hi", "--config", "claw.toml"])
        .output()
        .unwrap();
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    write(
        &folder.path().join(".config/claw"),
        &format!("base_url = {:?}", elsewhere(&service)),
    );
    let output = keyed(&folder).args(["run", "hi"]).output().unwrap();
    assert_eq!((code(&output), err(&output)), (Some(0), String::new()));
}

#[test]
fn doctor_tells_which_files_are_trusted_and_what_was_ignored() {
    let service = Service::start([]);
    let folder = folder_with("[policy]\nallow = [\"exec\"]");
    write(&folder.path().join(".config/claw"), "stamp = false");
    let output = service.claw(folder.path()).arg("doctor").output().unwrap();
    let report = out(&output);
    assert!(
        report.contains(".config/claw/claw.toml (trusted), "),
        "{report}"
    );
    assert!(report.contains("claw.toml (may only narrow)"), "{report}");
    assert!(report.contains("! ignored"), "{report}");
}
