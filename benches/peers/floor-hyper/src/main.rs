//! The lowest floor: connections of hyper, without TLS, kept for the next turn as a client's pool would.

use std::sync::Mutex;

use bench_common::{PROMPT, SYSTEM, modes};
use bench_floor::{Conversation, Events};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

struct Agent {
    host: String,
    model: String,
    idle: Mutex<Vec<Connection>>,
}

type Connection = SendRequest<Full<Bytes>>;

impl Agent {
    async fn connection(&self) -> Connection {
        let idle = self.idle.lock().expect("no panic").pop();
        if let Some(connection) = idle {
            return connection;
        }
        let stream = TcpStream::connect(&self.host).await.expect("the service");
        stream.set_nodelay(true).expect("a socket");
        let (connection, driver) = handshake(TokioIo::new(stream)).await.expect("HTTP");
        tokio::spawn(async move {
            let _ = driver.await;
        });
        connection
    }

    fn give_back(&self, connection: Connection) {
        self.idle.lock().expect("no panic").push(connection);
    }

    async fn post(&self, connection: &mut Connection, body: Vec<u8>) -> Incoming {
        connection.ready().await.expect("a connection");
        let request = hyper::Request::post("/v1/chat/completions")
            .header("host", &self.host)
            .header("authorization", "Bearer k")
            .header("content-type", "application/json")
            .body(Full::new(body.into()))
            .expect("a request");
        connection
            .send_request(request)
            .await
            .expect("an answer")
            .into_body()
    }
}

impl modes::Agent for Agent {
    fn new(base: &str, model: &str) -> Self {
        let host = base.trim_start_matches("http://").trim_end_matches("/v1");
        Self {
            host: host.to_owned(),
            model: model.to_owned(),
            idle: Mutex::default(),
        }
    }

    async fn run(&self) -> String {
        let mut said = Conversation::new(&self.model, SYSTEM, false);
        said.ask(PROMPT);
        let mut connection = self.connection().await;
        loop {
            let body = self.post(&mut connection, said.body()).await;
            let reply = body.collect().await.expect("a body").to_bytes();
            if let Some(text) = said.take(&reply) {
                self.give_back(connection);
                return text;
            }
        }
    }

    async fn stream(&self) -> usize {
        let mut said = Conversation::new(&self.model, SYSTEM, true);
        said.ask(PROMPT);
        let mut connection = self.connection().await;
        let mut body = self.post(&mut connection, said.body()).await;
        let (mut events, mut pieces) = (Events::default(), 0);
        while let Some(frame) = body.frame().await {
            if let Ok(bytes) = frame.expect("a body").into_data() {
                pieces += events.feed(&bytes);
            }
        }
        self.give_back(connection);
        pieces
    }

    async fn call(&self, arguments: &str) -> String {
        bench_floor::dispatch("get_weather", arguments).expect("arguments")
    }
}

fn main() {
    modes::run::<Agent>();
}
