//! The scripted service as a program: `bench-mock` prints where it is, up to `/v1`, and ends with its standard input.

fn main() {
    bench_common::mock::serve(2);
}
