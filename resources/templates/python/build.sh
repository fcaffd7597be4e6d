#!/bin/sh
# Builds {{name}}.wasm, with the descriptions of its tools.
set -eu
.venv/bin/componentize-py --wit-path wit --world plugin componentize plugin --output {{name}}.wasm
portcullis plugin describe {{name}}.wasm --wit wit
