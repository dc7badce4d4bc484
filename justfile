# Everything that a contributor does more than once.

# The list of recipes
default:
    @just --list

# What must hold before a change lands, without Go
test:
    ./test

# The same on a real Kubernetes
e2e:
    ./test e2e

# Builds everything that runs on Windows (agent, controller, the lab's parts), with whichever toolchain is there
windows out="target/windows":
    tools/build-windows {{ out }}

# Formats
fmt:
    cargo fmt --all

# Known vulnerabilities: needs the advisory database, so it is not part of ./test
advisories:
    cargo deny check advisories
