#!/usr/bin/env bash
# Tests the commands of `portcullis plugin`, also beside a running server, with a real registry that requires a login: Debian's package docker-registry
# (distribution/distribution 2.8). TARGET: the target folder, with the built binary and the test plugins.
set -euo pipefail
portcullis="$TARGET/debug/portcullis"
guests="$TARGET/plugins/wasm32-wasip2/plugin"
work="$(mktemp -d)"
registry="${DOCKER_REGISTRY:-docker-registry}"
port=$((20000 + RANDOM % 20000))
host="localhost:$port"
# The password of `me` is `secret`, hashed as by `htpasswd -nbB me secret`.
hash="$(python3 -c 'import crypt; print(crypt.crypt("secret", crypt.mksalt(crypt.METHOD_BLOWFISH, rounds=1 << 5)))' 2>/dev/null || true)"
[ -n "$hash" ] || hash="$(htpasswd -nbB me secret | cut -d: -f2)"
echo "me:$hash" > "$work/htpasswd"
cat > "$work/config.yml" <<CONFIG
version: 0.1
storage: { filesystem: { rootdirectory: $work/registry } }
http: { addr: "127.0.0.1:$port" }
auth: { htpasswd: { realm: test, path: $work/htpasswd } }
CONFIG
"$registry" serve "$work/config.yml" > "$work/registry.log" 2>&1 &
server=$!
running=
trap 'kill $running "$server"; rm -rf "$work"' EXIT
for _ in $(seq 100); do
    if (exec 3<> "/dev/tcp/127.0.0.1/$port") 2> /dev/null; then break; fi
    sleep 0.1
done

export HOME="$work/home"
unset XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME XDG_CONFIG_HOME DOCKER_CONFIG
mkdir -p "$HOME/.docker"
to="oci+http://$host/org/weather"

# expect CODE TEXT COMMAND…: checks that the command ends with this exit code and prints this text.
expect() {
    local code="$1" text="$2" ended=0 said
    shift 2
    said="$("$portcullis" "$@" 2>&1)" || ended=$?
    if [ "$ended" != "$code" ] || ! grep -qF -- "$text" <<< "$said"; then
        printf 'portcullis %s\nended with %s and not with %s and "%s":\n%s\n' "$*" "$ended" "$code" "$text" "$said"
        tail -n 20 "$work/registry.log"
        exit 1
    fi
    echo "ok: portcullis $*"
}

# lists TOOL yes|no: waits until a server that was started before lists the tool, or does not list it.
mcp="127.0.0.1:$((port + 1))"
lists() {
    local listed found
    for _ in $(seq 120); do
        listed="$(command curl --silent --header 'Content-Type: application/json' --header 'Accept: application/json, text/event-stream' \
            --header 'MCP-Protocol-Version: 2026-07-28' --header 'Mcp-Method: tools/list' "http://$mcp/mcp" --data \
            '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}' || true)"
        found=no
        if grep -qF "\"name\":\"$1\"" <<< "$listed"; then found=yes; fi
        if grep -qF '"tools":' <<< "$listed" && [ "$found" = "$2" ]; then
            echo "ok: the running server lists $1: $2"
            return
        fi
        sleep 0.25
    done
    printf 'the running server should list %s: %s. It answered:\n%.2000s\n' "$1" "$2" "$listed"
    tail -n 20 "$work/serve.log"
    exit 1
}

# logs TEXT: waits until the server that was started before logs this text.
logs() {
    for _ in $(seq 120); do
        if grep -qF -- "$1" "$work/serve.log"; then
            echo "ok: the running server logs: $1"
            return
        fi
        sleep 0.25
    done
    printf 'the running server should log "%s". It logged:\n' "$1"
    tail -n 20 "$work/serve.log"
    exit 1
}

cp "$guests/guest_echo.wasm" "$work/weather.wasm"
expect 2 "without a login" plugin publish "$work/weather.wasm" "$to:1.0" --yes
printf '{"auths":{"%s":{"auth":"%s"}}}' "$host" "$(printf 'me:secret' | base64)" > "$HOME/.docker/config.json"
expect 0 "published: " plugin publish "$work/weather.wasm" "$to:1.0" --yes
expect 0 "already names this artifact" plugin publish "$work/weather.wasm" "$to:1.0" --yes
expect 0 "$to:1.0" plugin search "$to"
expect 0 "org/weather" plugin search "oci+http://$host"
"$portcullis" serve --http "$mcp" > "$work/serve.log" 2>&1 &
running=$!
lists echo no
expect 0 "installed: " plugin add "$to:1.0" --yes
lists echo yes
expect 0 "loaded" plugin list
expect 0 "up to date" plugin update
cp "$guests/guest_keeper.wasm" "$work/weather.wasm"
expect 0 "will be moved" plugin publish "$work/weather.wasm" "$to:1.0" --yes
expect 1 "held back" plugin update --check
expect 0 "updated: " plugin update weather --yes
# The update needs a grant that the old component did not need: the running server goes on with the old one.
logs "goes on with the code that it had before"
lists echo yes
expect 0 "store" plugin grant weather store=wanted --yes
lists keep yes
lists echo no
cat > "$HOME/demands.toml" <<CONFIG
[plugin-sources."$host/org/*"]
key = "$work/cosign.pub"
CONFIG
openssl ecparam -name prime256v1 -genkey -noout -out "$work/cosign.key"
openssl ec -in "$work/cosign.key" -pubout -out "$work/cosign.pub" 2> /dev/null
expect 2 "is not signed" --config "$HOME/demands.toml" plugin add "$to:1.0" --name signed --yes
# A signature in the form of cosign 2, made by openssl and uploaded by curl.
api="http://$host/v2/org/weather"
curl() { command curl --silent --show-error --fail --user me:secret "$@"; }
digest="$(curl --head --header 'Accept: application/vnd.oci.image.manifest.v1+json' "$api/manifests/1.0" | tr -d '\r' | sed -n 's/^[Dd]ocker-[Cc]ontent-[Dd]igest: //p')"
upload() {
    local place
    place="$(curl --request POST --data '' --dump-header - --output /dev/null "$api/blobs/uploads/" | tr -d '\r' | sed -n 's/^[Ll]ocation: //p')"
    curl --request PUT --header 'Content-Type: application/octet-stream' --data-binary "@$1" "$place&digest=sha256:$(sha256sum "$1" | cut -d' ' -f1)"
}
printf '{"critical":{"identity":{"docker-reference":""},"image":{"docker-manifest-digest":"%s"},"type":"cosign container image signature"},"optional":null}' "$digest" > "$work/payload"
printf '{}' > "$work/empty"
upload "$work/payload"
upload "$work/empty"
signature="$(openssl dgst -sha256 -sign "$work/cosign.key" "$work/payload" | base64 -w0)"
part() { printf '{"mediaType":"%s","size":%s,"digest":"sha256:%s"%s}' "$1" "$(stat -c %s "$2")" "$(sha256sum "$2" | cut -d' ' -f1)" "${3:-}"; }
printf '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.manifest.v1+json","config":%s,"layers":[%s]}' \
    "$(part application/vnd.oci.image.config.v1+json "$work/empty")" \
    "$(part application/vnd.dev.cosign.simplesigning.v1+json "$work/payload" ",\"annotations\":{\"dev.cosignproject.cosign/signature\":\"$signature\"}")" > "$work/manifest"
curl --request PUT --header 'Content-Type: application/vnd.oci.image.manifest.v1+json' --data-binary "@$work/manifest" "$api/manifests/${digest/:/-}.sig"
expect 0 "signed   key" --config "$HOME/demands.toml" plugin add "$to:1.0" --name signed --yes
expect 0 "removed: " plugin remove weather --yes
lists keep no
echo "all as expected"
