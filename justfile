# Common tasks of contributors.

# List the recipes
default:
    @just --list

# Run all checks except those that need Go
test:
    ./test

# Run all checks, including those on a real Kubernetes
e2e:
    ./test e2e

# Run all checks, including those that do not fit into CI
long:
    ./test long

# Run the tests that need only Rust
quick:
    cargo test

# Build all Windows programs (agent, controller, lab) with the available toolchain
windows out="target/windows":
    tools/build-windows {{ out }}

# Format the code
fmt:
    cargo fmt --all

# Check for known vulnerabilities; needs the advisory database, so it is not part of ./test
advisories:
    cargo deny check advisories
