//! A way to the server that can be cut.

use std::sync::Arc;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// Passes bytes on until it is cut; then every connection is gone and no new one is made.
pub(crate) struct Proxy {
    pub(crate) url: String,
    open: Arc<watch::Sender<bool>>,
}

impl Proxy {
    pub(crate) async fn begin(url: &str) -> Self {
        let (who, rest) = url.split_once('@').unwrap();
        let (place, rest) = rest.split_once('/').unwrap();
        let place = place.to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let url = format!("{who}@127.0.0.1:{port}/{rest}");
        let open = Arc::new(watch::channel(true).0);
        let is_open = open.clone();
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut is_open = is_open.subscribe();
                if !*is_open.borrow() {
                    continue;
                }
                let place = place.clone();
                tokio::spawn(async move {
                    let Ok(mut server) = TcpStream::connect(place).await else {
                        return;
                    };
                    tokio::select! {
                        _ = copy_bidirectional(&mut client, &mut server) => {}
                        _ = is_open.wait_for(|open| !open) => {}
                    }
                });
            }
        });
        Self { url, open }
    }

    pub(crate) fn cut(&self) {
        self.open.send_replace(false);
    }

    pub(crate) fn mend(&self) {
        self.open.send_replace(true);
    }
}
