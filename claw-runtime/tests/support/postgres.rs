//! A real Postgres: one that `CLAW_TEST_POSTGRES` names, or one started for this process from the binaries of the machine.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tokio_postgres::{Client, NoTls};

/// Makes a cluster, runs it until its input closes (so also when the test is killed), and takes everything away.
const RUN: &str = r#"
dir=$(mktemp -d "${TMPDIR:-/tmp}/claw-postgres.XXXXXX" 2>/dev/null || mktemp -d /tmp/claw-postgres.XXXXXX) || exit 1
cd "$dir" || exit 1
trap 'rm -rf "$dir"' EXIT
"$1/initdb" -D data -U claw -A trust -E UTF8 --locale=C --no-sync >log 2>&1 || { cat log >&2; exit 1; }
tls=off
if openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost \
    -addext subjectAltName=DNS:localhost,IP:127.0.0.1 -addext basicConstraints=critical,CA:FALSE \
    -keyout data/server.key -out data/server.crt >>log 2>&1
then chmod 600 data/server.key; cp data/server.crt root.crt; chmod 755 . ; chmod 644 root.crt; tls=on; fi
"$1/postgres" -D data -p "$2" -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync="$3" \
    -c max_connections=300 -c ssl=$tls >>log 2>&1 &
server=$!
echo "$dir $tls"
cat >/dev/null
kill -QUIT $server
wait $server 2>/dev/null
exit 0
"#;

/// A server.
pub(crate) struct Server {
    place: String,
    /// A file of the certificate that it shows, where it speaks TLS.
    pub(crate) root: Option<PathBuf>,
    /// Ends when this process does.
    _running: Option<Child>,
}

/// Returns the server of this process, started when first asked for; none where none can be, having said so.
pub(crate) fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    let server = SERVER.get_or_init(|| match std::env::var("CLAW_TEST_POSTGRES") {
        Ok(url) => {
            let place = url.split('?').next().unwrap_or_default();
            let place = place.trim_start_matches("postgresql://");
            let place = place.trim_start_matches("postgres://");
            let (place, _database) = place.split_once('/').unwrap_or((place, ""));
            Some(Server {
                place: place.to_owned(),
                root: None,
                _running: None,
            })
        }
        Err(_) => Server::start(false),
    });
    if server.is_none() {
        println!("skipped: no Postgres on this machine, and CLAW_TEST_POSTGRES is not set");
    }
    server.as_ref()
}

impl Server {
    /// Starts a server; without `durable` it never waits for the disk.
    pub(crate) fn start(durable: bool) -> Option<Self> {
        let binaries = binaries()?;
        // Free now; nobody else takes it in the moment until the server does.
        let port = TcpListener::bind("127.0.0.1:0")
            .and_then(|free| free.local_addr())
            .expect("a free port")
            .port();
        let words = [
            binaries.display().to_string(),
            port.to_string(),
            if durable { "on" } else { "off" }.to_owned(),
        ];
        // A server refuses to run as root.
        let mut command = if is_root() {
            let mut command = Command::new("su");
            command.args(["nobody", "-s", "/bin/sh", "-c"]);
            let words = words.map(|word| format!("'{word}'")).join(" ");
            command.arg(format!("run() {{\n{RUN}\n}}\nrun {words}"));
            command
        } else {
            let mut command = Command::new("sh");
            command.args(["-c", RUN, "postgres"]).args(words);
            command
        };
        let mut running = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        BufReader::new(running.stdout.take().expect("piped"))
            .read_line(&mut line)
            .expect("a line");
        let (dir, tls) = line
            .trim_end()
            .split_once(' ')
            .expect("the server's folder");
        let root = (tls == "on").then(|| Path::new(dir).join("root.crt"));
        let server = Self {
            place: format!("claw@localhost:{port}"),
            root,
            _running: Some(running),
        };
        let begun = Instant::now();
        while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                begun.elapsed() < Duration::from_secs(60),
                "the server did not start; its log is in {dir}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Some(server)
    }

    /// Returns the url of a database, with settings.
    pub(crate) fn url(&self, database: &str, settings: &str) -> String {
        format!("postgres://{}/{database}?{settings}", self.place)
    }

    /// Makes an empty database.
    pub(crate) async fn database(&'static self) -> Database {
        static NTH: AtomicU32 = AtomicU32::new(0);
        let nth = NTH.fetch_add(1, Ordering::Relaxed);
        let name = format!("claw_test_{}_{nth}", std::process::id());
        let begun = Instant::now();
        let admin = loop {
            match connect(&self.url("postgres", "sslmode=disable")).await {
                Ok(client) => break client,
                // It listens before it serves.
                Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error:?}"),
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        let create = format!("CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0");
        admin.batch_execute(&create).await.expect("a database");
        Database { server: self, name }
    }
}

/// A database of a test.
pub(crate) struct Database {
    pub(crate) server: &'static Server,
    pub(crate) name: String,
}

impl Database {
    /// Returns its url.
    pub(crate) fn url(&self) -> String {
        self.server.url(&self.name, "sslmode=disable")
    }

    /// Returns a connection that claw knows nothing of.
    pub(crate) async fn client(&self) -> Client {
        connect(&self.url()).await.expect("a connection")
    }
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    // Ends with the client.
    tokio::spawn(connection);
    Ok(client)
}

/// Returns the folder of the newest server binaries.
fn binaries() -> Option<PathBuf> {
    let debian = std::fs::read_dir("/usr/lib/postgresql").into_iter();
    let debian = debian
        .flatten()
        .flatten()
        .map(|entry| entry.path().join("bin"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut folders: Vec<_> = std::env::split_paths(&path).chain(debian).collect();
    folders.retain(|folder| {
        ["initdb", "postgres"]
            .iter()
            .all(|name| folder.join(name).is_file())
    });
    folders.pop()
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output();
    id.is_ok_and(|id| id.stdout == b"0\n")
}
