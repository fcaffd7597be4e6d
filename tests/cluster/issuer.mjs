// An authorization server on this machine, which signs access tokens and publishes its keys, and the principals that get
// tokens from it.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { generateKeyPairSync, sign } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import https from "node:https";
import path from "node:path";
import { HOST, TOKEN } from "../proxies/http.mjs";

/** The address of the hosts, for which tokens are. */
const RESOURCE = `https://${HOST}/mcp`;
/** How long hosts accept a token after its end, in seconds, because clocks differ. */
const LEEWAY = 60;
/** How far a host may be from the end of a token, in milliseconds: it counts in seconds, and may be paused. */
const SLACK = 2500;
const ID = "1";

/** A certificate for `localhost`, and its key: two files. */
async function makeCertificate(folder) {
	const [config, cert, key] = ["issuer.conf", "issuer-cert.pem", "issuer-key.pem"].map((name) => path.join(folder, name));
	const text = "[req]\ndistinguished_name = name\nprompt = no\n[name]\nCN = localhost\n[use]\nsubjectAltName = DNS:localhost\nbasicConstraints = CA:FALSE\n";
	await writeFile(config, text);
	const options = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-extensions", "use"];
	const made = spawnSync("openssl", ["req", ...options, "-config", config, "-out", cert, "-keyout", key], { encoding: "utf8" });
	assert.equal(made.status, 0, `openssl makes a certificate (install the Debian package openssl): ${made.error ?? made.stderr}`);
	return { cert, key };
}

/** An authorization server. While `isAway` is set, it does not answer. */
export class Issuer {
	static async start(folder) {
		const issuer = new Issuer();
		const { cert, key } = await makeCertificate(folder);
		const { publicKey, privateKey } = generateKeyPairSync("ed25519");
		Object.assign(issuer, { cert, privateKey, isAway: false, fetches: 0 });
		const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: ID, use: "sig" }] };
		const options = { cert: await readFile(cert), key: await readFile(key) };
		issuer.server = https.createServer(options, (request, response) => {
			if (issuer.isAway) {
				return request.socket.destroy();
			}
			issuer.fetches += 1;
			const documents = { "/keys": keys, "/.well-known/oauth-authorization-server": { issuer: issuer.address, jwks_uri: `${issuer.address}/keys` } };
			const found = documents[request.url];
			response.writeHead(found ? 200 : 404, { "content-type": "application/json", connection: "close" }).end(JSON.stringify(found ?? {}));
		});
		await new Promise((resolve) => issuer.server.listen(0, "127.0.0.1", resolve));
		issuer.address = `https://localhost:${issuer.server.address().port}`;
		return issuer;
	}

	/** The configuration of a host that accepts tokens of this server and nothing else. */
	get config() {
		return `[http.oauth]\nresource = "${RESOURCE}"\nscopes = ["mcp:use"]\n[[http.oauth.issuers]]\nissuer = "${this.address}"\n`;
	}

	/** A token that hosts accept for so many seconds. `change`: other claims. */
	token(subject, seconds, change = {}, key = this.privateKey) {
		const exp = Math.floor(Date.now() / 1000 + seconds) - LEEWAY;
		const claims = { iss: this.address, sub: subject, aud: RESOURCE, scope: "mcp:use", exp, ...change };
		const parts = [{ alg: "EdDSA", typ: "at+jwt", kid: ID }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
		const message = parts.join(".");
		return `${message}.${sign(null, Buffer.from(message), key).toString("base64url")}`;
	}

	/** A token of this subject that is signed with another key. */
	forged(subject) {
		return this.token(subject, 3600, {}, generateKeyPairSync("ed25519").privateKey);
	}

	stop() {
		this.server.closeAllConnections();
		this.server.close();
	}
}

/** A caller with access tokens, each of which runs out after some seconds. `seconds`: how long the next one lasts. */
export class Principal {
	constructor(issuer, subject, seconds = () => 3 + Math.random() * 15) {
		Object.assign(this, { issuer, subject, seconds, renewed: 0 });
	}

	/** The token, also after it ran out, until a host refuses it. */
	get token() {
		if (!this.current) {
			const seconds = this.seconds();
			this.current = this.issuer.token(this.subject, seconds);
			this.end = Date.now() + seconds * 1000;
		}
		return this.current;
	}

	/**
	 * Sends a request with the token. If a host refuses it because it ran out, sends the request with a new one: it was
	 * not served. `send` gets the headers, and returns a response with a status and headers.
	 */
	async send(send) {
		for (;;) {
			const { token, end } = { token: this.token, end: this.end };
			const [began, response] = [Date.now(), await send({ authorization: `Bearer ${token}` })];
			if (response.status !== 401) {
				assert.ok(began < end + SLACK || response.status !== 200, `${this.subject}: a token was accepted ${began - end} ms after its end`);
				return response;
			}
			const challenge = response.headers["www-authenticate"];
			assert.match(challenge, /error="invalid_token", error_description="the token has expired".* resource_metadata="https:/);
			assert.ok(Date.now() > end - SLACK, `${this.subject}: a token was refused ${end - Date.now()} ms before its end`);
			response.close?.();
			if (this.current === token) {
				this.current = undefined;
				this.renewed += 1;
			}
		}
	}
}

/** The caller with the token that hosts have in a file. */
export const holder = { subject: "token", send: (send) => send({ authorization: `Bearer ${TOKEN}` }) };
