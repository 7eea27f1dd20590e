//! For stores that watch some of their methods and pass the others on.

/// Writes these methods of a `SessionStore` so that `self.inner`, another store, does the work.
macro_rules! pass_on {
    (@open) => {
        fn open<'a>(&'a self, session: &'a str) -> claw_runtime::session::StoreFuture<'a, claw_runtime::session::Lease> {
            self.inner.open(session)
        }
    };
    (@close) => {
        fn close(&self, lease: claw_runtime::session::Lease) -> claw_runtime::session::StoreFuture<'_, ()> {
            self.inner.close(lease)
        }
    };
    (@records) => {
        fn records<'a>(
            &'a self,
            session: &'a str,
            after: u64,
        ) -> claw_runtime::session::StoreFuture<'a, Vec<claw_runtime::session::Record>> {
            self.inner.records(session, after)
        }
    };
    (@restore) => {
        fn restore<'a>(
            &'a self,
            session: &'a str,
            parent: Option<&'a claw_runtime::session::Parent>,
            records: &'a [claw_runtime::session::Record],
        ) -> claw_runtime::session::StoreFuture<'a, ()> {
            self.inner.restore(session, parent, records)
        }
    };
    (@sessions) => {
        fn sessions<'a>(
            &'a self,
            query: &'a claw_runtime::session::Query,
        ) -> claw_runtime::session::StoreFuture<'a, Vec<claw_runtime::session::SessionInfo>> {
            self.inner.sessions(query)
        }
    };
    (@delete) => {
        fn delete<'a>(&'a self, session: &'a str) -> claw_runtime::session::StoreFuture<'a, ()> {
            self.inner.delete(session)
        }
    };
    (@put_blob) => {
        fn put_blob<'a>(
            &'a self,
            lease: &'a claw_runtime::session::Lease,
            bytes: &'a [u8],
        ) -> claw_runtime::session::StoreFuture<'a, String> {
            self.inner.put_blob(lease, bytes)
        }
    };
    (@blob) => {
        fn blob<'a>(
            &'a self,
            session: &'a str,
            digest: &'a str,
        ) -> claw_runtime::session::StoreFuture<'a, Option<std::sync::Arc<[u8]>>> {
            self.inner.blob(session, digest)
        }
    };
    (@blobs) => {
        fn blobs<'a>(&'a self, session: &'a str) -> claw_runtime::session::StoreFuture<'a, Vec<String>> {
            self.inner.blobs(session)
        }
    };
    (@post) => {
        fn post<'a>(
            &'a self,
            session: &'a str,
            key: &'a str,
            input: &'a claw_runtime::session::Posted,
        ) -> claw_runtime::session::StoreFuture<'a, bool> {
            self.inner.post(session, key, input)
        }
    };
    (@inbox) => {
        fn inbox<'a>(
            &'a self,
            lease: &'a claw_runtime::session::Lease,
        ) -> claw_runtime::session::StoreFuture<'a, Vec<claw_runtime::session::Waiting>> {
            self.inner.inbox(lease)
        }
    };
    (@posted) => {
        fn posted<'a>(
            &'a self,
            lease: &'a claw_runtime::session::Lease,
        ) -> claw_runtime::session::StoreFuture<'a, ()> {
            self.inner.posted(lease)
        }
    };
    (@count) => {
        fn count<'a>(
            &'a self,
            counter: &'a str,
            add: i64,
            most: u64,
        ) -> claw_runtime::session::StoreFuture<'a, bool> {
            self.inner.count(counter, add, most)
        }
    };
    (@may_act) => {
        fn may_act(&self, lease: &claw_runtime::session::Lease) -> bool {
            self.inner.may_act(lease)
        }
    };
    (@lost) => {
        fn lost<'a>(
            &'a self,
            lease: &'a claw_runtime::session::Lease,
        ) -> futures_util::future::BoxFuture<'a, ()> {
            self.inner.lost(lease)
        }
    };
    ($($method:ident)*) => {
        $(pass_on!(@$method);)*
    };
}
