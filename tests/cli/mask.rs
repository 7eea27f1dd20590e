//! What `[mask]` keeps from a service, and who gets it all the same.

use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::service::{Answer, Service, calls, claw, says};
use crate::{code, err, out};

const PHONE: &str = "13812345678";
const CARD: &str = "11010519491231002X";

fn run(folder: &Path, service: &Service, config: &str, args: &[&str]) -> Output {
    fs::write(
        folder.join("config.toml"),
        config.replace("URL", &service.url),
    )
    .unwrap();
    claw(folder)
        .args(args)
        .args(["--config", "config.toml"])
        .output()
        .unwrap()
}

fn script() -> [Answer; 2] {
    [
        calls(
            "write_file",
            &json!({"path": "out.txt", "content": "[phone-1] of [identity-card-1], [staff-1]"}),
        ),
        says("Wrote [phone-1]."),
    ]
}

const MASKED: &str = "model = \"lab:m\"\n[policy]\nallow = [\"write_file\"]\n\
    [mask]\npatterns = [\"identity-card\", \"phone\"]\nown = { staff = \"E[0-9]{4}\" }\n\
    [providers.lab]\nbase_url = \"URL\"\nmask = true";

#[test]
fn a_service_gets_placeholders_and_tools_and_people_get_values() {
    let folder = tempdir().unwrap();
    let service = Service::start(script());
    let asked = format!("Note {PHONE} of {CARD}, E1234.");
    let output = run(folder.path(), &service, MASKED, &["run", "--json", &asked]);
    assert_eq!(code(&output), Some(0), "{}", err(&output));
    let written = fs::read_to_string(folder.path().join("out.txt")).unwrap();
    assert_eq!(written, format!("{PHONE} of {CARD}, E1234"));
    let heard = service.requests();
    for request in &heard {
        let text = request.to_string();
        for value in [PHONE, CARD, "E1234"] {
            assert!(!text.contains(value), "{text}");
        }
        assert!(
            text.contains("Note [phone-1] of [identity-card-1], [staff-1]."),
            "{text}"
        );
    }
    // What was said before is said in the same words again, so that a cache holds.
    let first = heard[0]["messages"].as_array().unwrap();
    let second = heard[1]["messages"].as_array().unwrap();
    assert_eq!(first[..], second[..first.len()]);
    let lines: Vec<Value> = out(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let end = lines.last().unwrap();
    assert_eq!(
        end["masked"],
        json!({"phone": 1, "identity-card": 1, "staff": 1})
    );
    assert_eq!(end["outcome"]["text"], format!("Wrote {PHONE}."));
    // For people it is counted, too.
    let service = Service::start(script());
    let output = run(
        folder.path(),
        &service,
        MASKED,
        &["run", "--ephemeral", &asked],
    );
    assert!(
        err(&output).contains("masked in what was sent: 1 identity-card, 1 phone, 1 staff"),
        "{}",
        err(&output)
    );
    // A session that goes on in another process numbers them as before.
    let service = Service::start([says("Yes, [phone-1].")]);
    let output = run(
        folder.path(),
        &service,
        MASKED,
        &["run", "-q", "-c", "and 13912345678?"],
    );
    assert_eq!(out(&output), format!("Yes, {PHONE}.\n"), "{}", err(&output));
    let text = service.requests()[0].to_string();
    assert!(
        text.contains("Note [phone-1] of") && text.contains("and [phone-2]?"),
        "{text}"
    );
}

#[test]
fn servers_of_this_machine_are_told_all_unless_settings_say_otherwise() {
    let folder = tempdir().unwrap();
    for (extra, hidden) in [
        ("", false),
        ("\nmask = false", false),
        ("\nmask = true", true),
    ] {
        let service = Service::start([says("ok")]);
        let config = MASKED.replace("\nmask = true", extra);
        run(
            folder.path(),
            &service,
            &config,
            &["run", "-q", "--ephemeral", PHONE],
        );
        let text = service.requests()[0].to_string();
        assert_eq!(text.contains(PHONE), !hidden, "{extra}: {text}");
    }
    // Elsewhere it is the other way round.
    let service = Service::start([says("ok")]);
    let elsewhere = service.url.replace("127.0.0.1", "0.0.0.0");
    let config = MASKED
        .replace("\nmask = true", "")
        .replace("URL", &elsewhere);
    run(
        folder.path(),
        &service,
        &config,
        &["run", "-q", "--ephemeral", PHONE],
    );
    assert!(!service.requests()[0].to_string().contains(PHONE));
}

#[test]
fn faults_of_patterns_are_told_and_a_folder_only_adds() {
    let folder = tempdir().unwrap();
    let service = Service::start([]);
    for (from, to, words) in [
        (
            "\"phone\"",
            "\"fax\"",
            "`[mask]`: there is no pattern `fax`; expected one of `identity-card`, `phone`",
        ),
        (
            "E[0-9]{4}",
            "E[0-9",
            "`[mask]`: the expression of pattern `staff` cannot be read: ",
        ),
        (
            "patterns =",
            "images = \"hide\"\npatterns =",
            "`mask.images`: unknown variant `hide`, expected `send` or `deny`",
        ),
        (
            "staff =",
            "Staff =",
            "`[mask]`: `Staff` cannot name a pattern",
        ),
        (
            "patterns =",
            "pattern =",
            "unknown key `mask.pattern`; did you mean `mask.patterns`?",
        ),
    ] {
        let config = MASKED.replace(from, to);
        let output = run(folder.path(), &service, &config, &["run", "hi"]);
        assert_eq!(code(&output), Some(2), "{to}");
        assert!(err(&output).contains(words), "{}", err(&output));
    }
    let user = folder.path().join(".config/claw");
    fs::create_dir_all(&user).unwrap();
    let users = MASKED
        .replace("URL", &service.url)
        .replace("[mask]", "[mask]\nimages = \"deny\"");
    fs::write(user.join("claw.toml"), users).unwrap();
    let own = "[mask]\nimages = \"send\"\npatterns = []\nown = { staff = \"none\", room = \"R[0-9]+\" }\n[providers.lab]\nmask = false";
    fs::write(folder.path().join("claw.toml"), own).unwrap();
    let asked = format!("{PHONE} E1234 R12");
    let output = claw(folder.path())
        .args(["run", "--ephemeral", &asked])
        .output()
        .unwrap();
    let said = err(&output);
    assert!(
        said.contains("`mask.images`, `mask.own.staff`, `providers.lab.mask`: ignored"),
        "{said}"
    );
    let text = service.requests()[0].to_string();
    assert!(text.contains("[phone-1] [staff-1] [room-1]"), "{text}");
}
