//! Everything is in the library, so that the reference generator and the tests can reach it.

fn main() -> std::process::ExitCode {
    warren_cli::main()
}
