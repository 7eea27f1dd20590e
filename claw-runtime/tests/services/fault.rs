//! The faults: what a server does, and what is to be made of it.

use claw_runtime::provider::FailureClass::{self, *};

use crate::format::Format;
use crate::support::{Act, answer, chunk, gzip, json};

/// One way to misbehave.
pub(crate) struct Fault {
    pub(crate) name: &'static str,
    /// What the server does; `elsewhere` is the address of another.
    pub(crate) acts: fn(format: &Format, elsewhere: &str) -> Vec<Act>,
    pub(crate) class: FailureClass,
    /// Seconds that the service asks to wait.
    pub(crate) asks: Option<u64>,
    /// Seconds until the fault is known.
    pub(crate) takes: u64,
    /// Whether `Hello` was said before.
    pub(crate) said: bool,
}

const NONE: Fault = Fault {
    name: "",
    acts: |_, _| Vec::new(),
    class: Network,
    asks: None,
    takes: 0,
    said: false,
};

const DATE: &str = "date: Mon, 30 Nov 2026 12:00:00 GMT\r\n";
const HTML: &str = "content-type: text/html\r\n";
const JSON: &str = "content-type: application/json\r\n";
const PAGE: &str = "<!doctype html><p>Hello";

fn refused(format: &Format, status: u16, headers: &str, code: &str, message: &str) -> Vec<Act> {
    let body = (format.refusal)(status, code, message);
    answer(status, &format!("{JSON}{headers}"), body.to_string())
}

/// Says `Hello`, then acts.
fn then(format: &Format, act: Act) -> Vec<Act> {
    let mut acts = format.open(&[&(format.text)("Hello")]);
    acts.push(act);
    acts
}

fn redirect(status: u16, elsewhere: &str) -> Vec<Act> {
    answer(status, &format!("location: {elsewhere}/chat\r\n"), "")
}

pub(crate) const FAULTS: [Fault; 32] = [
    Fault {
        name: "429, seconds to wait",
        acts: |it, _| refused(it, 429, "retry-after: 7\r\n", "x", "slow down"),
        class: RateLimit,
        asks: Some(7),
        ..NONE
    },
    Fault {
        name: "429, a date to wait for",
        acts: |it, _| {
            let header = format!("{DATE}retry-after: Mon, 30 Nov 2026 12:00:50 GMT\r\n");
            refused(it, 429, &header, "x", "slow down")
        },
        class: RateLimit,
        asks: Some(50),
        ..NONE
    },
    Fault {
        name: "429, no word of a wait, no body",
        acts: |_, _| answer(429, "", ""),
        class: RateLimit,
        ..NONE
    },
    Fault {
        name: "500",
        acts: |it, _| refused(it, 500, "", "server_error", "oops"),
        class: Overloaded,
        ..NONE
    },
    Fault {
        name: "502 with a web page",
        acts: |_, _| answer(502, HTML, PAGE),
        class: Overloaded,
        ..NONE
    },
    Fault {
        name: "503 with a wait",
        acts: |it, _| refused(it, 503, "retry-after: 3\r\n", "x", "busy"),
        class: Overloaded,
        asks: Some(3),
        ..NONE
    },
    Fault {
        name: "529",
        acts: |it, _| refused(it, 529, "", "overloaded_error", "busy"),
        class: Overloaded,
        ..NONE
    },
    Fault {
        name: "401",
        acts: |it, _| refused(it, 401, "", "x", "who are you"),
        class: Auth,
        ..NONE
    },
    Fault {
        name: "400",
        acts: |it, _| refused(it, 400, "", "x", "bad field"),
        class: BadRequest,
        ..NONE
    },
    Fault {
        name: "400 for a schema",
        acts: |it, _| {
            refused(
                it,
                400,
                "",
                "x",
                "tools[0].function.parameters: no such type",
            )
        },
        class: SchemaRefused,
        ..NONE
    },
    Fault {
        name: "404",
        acts: |it, _| refused(it, 404, "", "x", "no such model"),
        class: NotFound,
        ..NONE
    },
    Fault {
        name: "closed before the answer",
        acts: |_, _| vec![Act::Close],
        ..NONE
    },
    Fault {
        name: "reset before the answer",
        acts: |_, _| vec![Act::Reset],
        ..NONE
    },
    Fault {
        name: "reset after the head",
        acts: |it, _| {
            let mut acts = it.open(&[]);
            acts.push(Act::Reset);
            acts
        },
        ..NONE
    },
    Fault {
        name: "closed in the middle",
        acts: |it, _| then(it, Act::Close),
        class: IncompleteStream,
        said: true,
        ..NONE
    },
    Fault {
        name: "reset in the middle",
        acts: |it, _| then(it, Act::Reset),
        class: IncompleteStream,
        said: true,
        ..NONE
    },
    Fault {
        name: "ended in the middle",
        acts: |it, _| then(it, Act::Send(b"0\r\n\r\n".to_vec())),
        class: IncompleteStream,
        said: true,
        ..NONE
    },
    Fault {
        name: "silent",
        acts: |_, _| vec![Act::Drip(Vec::new(), 60_000)],
        class: Stalled,
        takes: 300,
        ..NONE
    },
    Fault {
        name: "stalled with keep-alives",
        acts: |it, _| {
            let mut acts = it.open(&[]);
            acts.push(Act::Drip(chunk(it.keep_alive), 5_000));
            acts
        },
        class: Stalled,
        takes: 300,
        ..NONE
    },
    Fault {
        name: "stalled with keep-alives in the middle",
        acts: |it, _| then(it, Act::Drip(chunk(it.keep_alive), 5_000)),
        class: Stalled,
        takes: 35,
        said: true,
        ..NONE
    },
    Fault {
        name: "200 with an error",
        acts: |it, _| json(200, &(it.refusal)(429, "rate_limit_exceeded", "slow down")),
        class: RateLimit,
        ..NONE
    },
    Fault {
        name: "200 with an error of another's making",
        acts: |_, _| {
            let error = serde_json::json!({"message": "slow down", "code": 429});
            json(200, &serde_json::json!({"error": error}))
        },
        class: RateLimit,
        ..NONE
    },
    Fault {
        name: "an error in the middle",
        acts: |it, _| {
            let error = (it.refusal)(429, "rate_limit_exceeded", "slow down");
            then(it, Act::Send(chunk(&(it.broken)(&error))))
        },
        class: RateLimit,
        said: true,
        ..NONE
    },
    Fault {
        name: "200 with a web page",
        acts: |_, _| answer(200, HTML, PAGE),
        class: BadResponse,
        ..NONE
    },
    Fault {
        name: "200 with a web page, said to be JSON",
        acts: |_, _| answer(200, JSON, PAGE),
        class: BadResponse,
        ..NONE
    },
    Fault {
        name: "200 with a document of something else",
        acts: |_, _| json(200, &serde_json::json!({"hello": "I am a router"})),
        class: BadResponse,
        ..NONE
    },
    Fault {
        name: "200 with nothing",
        acts: |_, _| answer(200, JSON, ""),
        class: IncompleteStream,
        ..NONE
    },
    Fault {
        name: "compressed, and cut",
        acts: |it, _| {
            let mut body = gzip(it.body("Hello").as_bytes());
            body.truncate(14);
            answer(200, "content-encoding: gzip\r\n", body)
        },
        ..NONE
    },
    Fault {
        name: "said to be compressed, and not",
        acts: |it, _| answer(200, "content-encoding: gzip\r\n", it.body("Hello")),
        ..NONE
    },
    Fault {
        name: "redirect for this request",
        acts: |_, elsewhere| redirect(307, elsewhere),
        class: BadRequest,
        ..NONE
    },
    Fault {
        name: "redirect for good",
        acts: |_, elsewhere| redirect(301, elsewhere),
        class: BadRequest,
        ..NONE
    },
    Fault {
        name: "no HTTP",
        acts: |_, _| vec![Act::Send(b"\x00\xff nonsense\r\n\r\n".to_vec()), Act::Close],
        ..NONE
    },
];
