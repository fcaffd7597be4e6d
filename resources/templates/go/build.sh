#!/bin/sh
# Builds {{name}}.wasm, with the descriptions of its tools.
set -eu

# Go runs this version of componentize-go, whose first run downloads its program. COMPONENTIZE_GO is another command.
tool=${COMPONENTIZE_GO:-go run github.com/bytecodealliance/componentize-go@v0.4.3}

# `bindings` makes code from the WIT files, and a go.mod. Later builds keep the go.mod, with the modules that you add.
[ ! -f go.mod ] || mv go.mod go.mod.kept
$tool --wit-path wit --world plugin bindings
[ ! -f go.mod.kept ] || mv go.mod.kept go.mod
go mod tidy

$tool --wit-path wit --world plugin build --output {{name}}.wasm
portcullis plugin describe {{name}}.wasm --wit wit
