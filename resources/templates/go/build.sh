#!/bin/sh
# Builds {{name}}.wasm, with the descriptions of its tools.
set -eu
wkg wit build --output plugin-wit.wasm
go tool wit-bindgen-go generate --world plugin --out internal ./plugin-wit.wasm
tinygo build -target=wasip2 -o {{name}}.wasm --wit-package plugin-wit.wasm --wit-world plugin .
portcullis plugin describe {{name}}.wasm --wit plugin-wit.wasm
