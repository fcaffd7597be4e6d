// An OData V4 service with a few books: as much of one as the generated apps ask for.

import http from "node:http";

const METADATA = `<?xml version="1.0" encoding="utf-8"?>
<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx">
<edmx:DataServices><Schema Namespace="catalog" xmlns="http://docs.oasis-open.org/odata/ns/edm">
<EntityType Name="Books"><Key><PropertyRef Name="ID"/></Key>
<Property Name="ID" Type="Edm.Int32" Nullable="false"/>
<Property Name="title" Type="Edm.String"/>
<Property Name="price" Type="Edm.Decimal" Scale="variable"/></EntityType>
<EntityContainer Name="Container"><EntitySet Name="Books" EntityType="catalog.Books"/></EntityContainer>
</Schema></edmx:DataServices></edmx:Edmx>`;

const BOOKS = ["first", "second", "third"].map((word, index) => ({
	ID: index + 1,
	title: `The ${word} book`,
	price: 10.5 * (index + 1)
}));

const PREFIX = "/odata/v4/catalog/";

/** Starts the service, for as long as the test runs. */
export function startService(t) {
	const server = http.createServer(async (request, response) => {
		const body = await read(request);
		const isBatch = request.method === "POST" && request.url.startsWith(`${PREFIX}$batch`);
		const { status, type, text } = isBatch ? batch(body) : answer(request.url);
		response.writeHead(status, { "content-type": type, "odata-version": "4.0", "x-csrf-token": "none" });
		response.end(text);
	});
	t.after(() => {
		server.closeAllConnections();
		server.close();
	});
	return new Promise((resolve) => {
		server.listen(0, "localhost", () => resolve({ port: server.address().port }));
	});
}

async function read(request) {
	let body = "";
	for await (const piece of request.setEncoding("utf8")) {
		body += piece;
	}
	return body;
}

function answer(address) {
	const url = new URL(address, "http://localhost");
	const name = url.pathname.slice(PREFIX.length);
	if (name === "") {
		return json({ value: [{ name: "Books", kind: "EntitySet", url: "Books" }] });
	}
	if (name === "$metadata") {
		return { status: 200, type: "application/xml", text: METADATA };
	}
	if (name !== "Books") {
		return { status: 404, type: "application/json", text: "{}" };
	}
	const skip = Number(url.searchParams.get("$skip") ?? 0);
	const top = Number(url.searchParams.get("$top") ?? 100);
	return json({ "@odata.context": "$metadata#Books", value: BOOKS.slice(skip, skip + top) });
}

function json(value) {
	return { status: 200, type: "application/json;odata.metadata=minimal", text: JSON.stringify(value) };
}

/** Answers each GET of a multipart batch. */
function batch(body) {
	const boundary = "batch_answer";
	const parts = [...body.matchAll(/^GET (\S+) HTTP\/1\.1/gm)].map(([, address]) => {
		const { status, type, text } = answer(`${PREFIX}${address}`);
		return [
			`--${boundary}`, "Content-Type: application/http", "Content-Transfer-Encoding: binary", "",
			`HTTP/1.1 ${status} OK`, `Content-Type: ${type}`, `Content-Length: ${Buffer.byteLength(text)}`,
			"OData-Version: 4.0", "", text
		].join("\r\n");
	});
	const text = `${parts.join("\r\n")}\r\n--${boundary}--\r\n`;
	return { status: 200, type: `multipart/mixed; boundary=${boundary}`, text };
}
