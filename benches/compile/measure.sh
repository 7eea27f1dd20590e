#!/usr/bin/env bash
# What it costs to compile tools: 150 sync and 150 async ones of 8 documented arguments, beside plain functions.
#
#     benches/compile/measure.sh [count] [runs]
#
# Generates two crates in a temporary folder, builds what they depend on, then builds each crate alone `runs` times
# (dev profile, not incremental, no network) and prints the least CPU seconds, user and system. Needs cargo and bash.
set -eu

count=${1:-300}
runs=${2:-5}
here=$(cd "$(dirname "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# Writes a crate of functions; with an attribute for each when $2 is `tool`.
crate() {
    local name=$1 kind=$2
    mkdir -p "$folder/$name/src"
    cat >"$folder/$name/Cargo.toml" <<TOML
[package]
name = "$name"
version = "0.0.0"
edition = "2024"

[dependencies]
claw-runtime = { path = "$here/claw-runtime", default-features = false }

[workspace]
TOML
    cp "$here/Cargo.lock" "$folder/$name/Cargo.lock"
    {
        echo '#![allow(clippy::too_many_arguments)]'
        echo 'extern crate claw_runtime as claw;'
        for ((at = 0; at < count; at++)); do
            local async=''
            if ((at % 2)); then async='async '; fi
            if [ "$kind" = tool ]; then
                attribute='#[claw::tool(effect = read)]' limit='#[arg(range = 1..=100)]' default='#[arg(default = 10)]'
            else
                attribute='' limit='' default=''
            fi
            # Doc comments on parameters are for the macro; a plain function may not have them.
            doc() { if [ "$kind" = tool ]; then echo "/// $1"; fi; }
            cat <<RUST
/// Searches the files of project $at for a text and lists what it finds.
$attribute
pub ${async}fn tool_$at(
    $(doc 'The text to look for, exactly as it is written.')
    query: &str,
    $(doc 'The folder to start from, relative to the workspace.')
    folder: String,
    $(doc 'How many results to return at most.')
    $limit
    limit: u32,
    $(doc 'How many results to leave out at the start.')
    $default
    offset: u64,
    $(doc 'Whether upper and lower case are the same.')
    ignore_case: bool,
    $(doc 'Names of files to leave out.')
    exclude: Vec<String>,
    $(doc 'How well a result must match, from 0 to 1.')
    score: Option<f64>,
    $(doc 'The language of the files, for example rust.')
    language: Option<String>,
) -> Result<String, std::fmt::Error> {
    Ok(format!("{query}{folder}{limit}{offset}{ignore_case}{exclude:?}{score:?}{language:?}"))
}
RUST
        done
    } >"$folder/$name/src/lib.rs"
}

export CARGO_INCREMENTAL=0
export CARGO_TARGET_DIR=${COMPILE_TARGET_DIR:-$folder/target}

# Prints the CPU seconds of building a crate whose dependencies are built.
seconds() {
    touch "$folder/$1/src/lib.rs"
    local TIMEFORMAT='%U %S'
    { time cargo build --quiet --offline --manifest-path "$folder/$1/Cargo.toml" 2>"$folder/errors" || cat "$folder/errors" >&2; } 2>&1 |
        tail -n 1 | awk '{ printf "%.2f\n", $1 + $2 }'
}

crate plain plain
crate tools tool
for name in plain tools; do
    cargo build --quiet --offline --manifest-path "$folder/$name/Cargo.toml"
done
least_plain= least_tools=
for ((run = 0; run < runs; run++)); do
    # In turn, so that a busy machine disturbs both alike.
    plain=$(seconds plain) tools=$(seconds tools)
    least_plain=$(printf '%s\n' $plain $least_plain | sort -n | head -n 1)
    least_tools=$(printf '%s\n' $tools $least_tools | sort -n | head -n 1)
done
echo "$count plain functions: $least_plain CPU s"
echo "$count tools:           $least_tools CPU s"
awk -v plain="$least_plain" -v tools="$least_tools" -v count="$count" \
    'BEGIN { printf "one tool:            %.1f ms more than its function\n", (tools - plain) / count * 1000 }'
