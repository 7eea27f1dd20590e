//! The floor as a program.

fn main() {
    bench_common::modes::run::<bench_floor::Agent>();
}
