//! claw as a program like its peers.

fn main() {
    bench_common::modes::run::<bench_claw::Measured>();
}
