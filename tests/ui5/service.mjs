// An OData service with a few books, in V2 and in V4, made by the mock server of SAP Fiori tools.

import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath } from "node:url";

const { default: MockServer } = createRequire(import.meta.url)("@sap-ux/fe-mockserver-core");

const here = path.dirname(fileURLToPath(import.meta.url));

/** The paths of the service in both versions. */
export const PATHS = { V2: "/odata/v2/catalog", V4: "/odata/v4/catalog" };

/**
 * Starts the service, for as long as the test runs.
 *
 * Like SAP Gateway, it refuses writing requests without a CSRF token. It gives the token to every client that asks.
 *
 * @returns the port; `stop()`; `tokens`: the number of requests for a token, by path
 */
export async function startService() {
	const services = Object.entries(PATHS).map(([version, urlPath]) => {
		const folder = path.join(here, "service", version.toLowerCase());
		return { urlPath, metadataPath: path.join(folder, "metadata.xml"), mockdataPath: folder, watch: false };
	});
	const mock = new MockServer({ services, annotations: [], plugins: [] });
	await mock.isReady;
	const router = mock.getRouter();
	const tokens = [];
	const server = http.createServer((request, response) => {
		const token = request.headers["x-csrf-token"];
		if (token?.toLowerCase() === "fetch") {
			tokens.push(request.url);
		} else if (!["GET", "HEAD"].includes(request.method) && !token) {
			response.writeHead(403, { "x-csrf-token": "Required" }).end();
			return;
		}
		router(request, response, (error) => response.writeHead(404).end(String(error ?? "")));
	});
	await new Promise((resolve) => server.listen(0, "localhost", resolve));
	return {
		port: server.address().port,
		tokens,
		async stop() {
			server.closeAllConnections();
			server.close();
			await mock.dispose();
		}
	};
}
