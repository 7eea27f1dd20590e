//! The stock `claw` program: the built-in tools, and nothing else.

fn main() -> std::process::ExitCode {
    claw::main()
}
