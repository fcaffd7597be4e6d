// Records an answer of each tool that the bundled plugins offer without an editor, into `answers/portcullis.json`:
// PORTCULLIS=target/debug/portcullis node record.mjs PACKAGES [NAME...]
//
// PACKAGES is a folder with checkouts of public Unreal Engine packages, each in a folder of its own: `cesium-unreal` (CesiumGS/cesium-unreal),
// `prophecy` (prophecygamestudio/UnrealMCPServer), `sentry-unreal` (getsentry/sentry-unreal) and `uasset-rs` (jorgenpt/uasset-rs). `ui5lint`, `npm`
// and `git` have to be in the PATH. With NAMEs, only these answers are recorded, and the others stay. A tool without an answer here is an error.

import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { execFileSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const [packages, ...wanted] = process.argv.slice(2);
const portcullis = process.env.PORTCULLIS && path.resolve(process.env.PORTCULLIS);
if (!packages || !portcullis) {
	console.error("usage: PORTCULLIS=BINARY node record.mjs PACKAGES [NAME...]");
	process.exit(2);
}

/** What the paths of the recorded answers begin with. */
const SHOWN = "/srv";
const APP = `${SHOWN}/com.example.demo`;
const GAME = `${SHOWN}/DemoGame`;
const SENTRY = `${SHOWN}/SentryPlayground`;
const CESIUM = `${SHOWN}/Globe`;
const VERSIONS = `${SHOWN}/versions`;
const pawn = { projectDir: GAME, assetPath: "/Game/TestAssets/MCP_TestPawn" };

/** The calls, in order: the name of the answer, the arguments, and the tool, if the answer has another name. */
const CALLS = [
	["get_guidelines", { section: "6. Events" }],
	["get_integration_cards_guidelines", {}],
	["get_typescript_conversion_guidelines", {}],
	["get_version_info", { frameworkName: "OpenUI5" }],
	["search_docs", { query: "data binding of lists" }],
	["read_docs", { page: "" }],
	["create_ui5_app", { appNamespace: "com.example.demo", basePath: SHOWN, framework: "OpenUI5", frameworkVersion: "1.136.0", initializeGitRepository: true, runNpmInstall: false }],
	["create_ui5_app_again", { appNamespace: "com.example.demo", basePath: SHOWN, framework: "OpenUI5", frameworkVersion: "1.136.0", runNpmInstall: false }, "create_ui5_app"],
	["create_integration_card", { basePath: SHOWN, cardFolderName: "sales", cardType: "Table" }],
	["get_project_info", { projectDir: APP }],
	["get_api_reference", { projectDir: APP, query: "sap.m.Button#press" }],
	["get_api_reference_class", { projectDir: APP, query: "sap.m.Button" }, "get_api_reference"],
	["run_manifest_validation", { manifestPath: `${SHOWN}/shop/webapp/manifest.json` }],
	["run_manifest_validation_valid", { manifestPath: `${APP}/webapp/manifest.json` }, "run_manifest_validation"],
	["run_ui5_linter", { projectDir: `${SHOWN}/shop` }],
	["add_fiori_page", { appDirectory: `${SHOWN}/orders`, pageType: "ObjectPage", entitySet: "Orders" }],
	["list_fiori_apps", { directory: SHOWN }],
	["unreal_status", { projectDir: CESIUM }],
	["get_project_config", { projectDir: SENTRY }],
	["search_assets", { projectDir: CESIUM, packagePaths: ["/CesiumForUnreal/Materials"] }],
	["search_blueprints", { projectDir: SENTRY, searchType: "name", searchTerm: "Before" }],
	["query_asset", { ...pawn, bIncludeTags: true }],
	["export_asset", { projectDir: GAME, objectPath: "/Game/TestAssets/MCP_TestMaterial.MCP_TestMaterial" }],
	["export_class_default", { projectDir: GAME, classPath: "/Game/TestAssets/MCP_TestPawn.MCP_TestPawn_C" }],
	["get_asset_dependencies", { ...pawn, bIncludeScript: true }],
	["get_asset_references", { projectDir: CESIUM, assetPath: "/CesiumForUnreal/Materials/MaterialFunctions/CesiumSelectTexCoords" }],
	["get_asset_dependency_tree", { projectDir: CESIUM, assetPath: "/CesiumForUnreal/Materials/M_CesiumOverlayWater" }],
	["get_blueprint_graph", pawn],
	["get_asset_thumbnail", { projectDir: GAME, assetPath: "/Game/TestAssets/MCP_TestMaterial" }],
	["list_level_actors", { projectDir: SENTRY, mapPath: "/Game/Maps/SentryDemo" }],
	["find_unused_assets", { projectDir: CESIUM }],
	["find_broken_references", { projectDir: CESIUM }],
	["get_log_file_path", { projectDir: GAME }],
	["read_editor_log", { projectDir: GAME }],
	["search_blueprint_contents", { projectDir: SENTRY, term: "Set" }],
	["get_class_hierarchy", { projectDir: SENTRY }],
	["diff_assets", { fileBefore: `${VERSIONS}/before/SimpleRefsDefaultsRef.uasset`, fileAfter: `${VERSIONS}/after/SimpleRefsDefaultsRef.uasset` }],
	["inspect_cooked", { file: `${GAME}/Build/DemoGame.pak` }],
	["_ui_list", { action: "list" }, "_ui"],
	["_ui_inspect", { action: "inspect", toolName: "query_asset" }, "_ui"],
	["_ui_refine", { action: "refine", toolName: "query_asset", feedback: "lead with the size of the file" }, "_ui"],
	["_ui_apply", { action: "apply", toolName: "query_asset", spec: { version: 1, root: { component: "Metric", label: "Asset", value: { path: "/result/assetName" } } } }, "_ui"],
	["_ui_regenerate", { action: "regenerate", toolName: "query_asset", clearRefinements: true }, "_ui"],
	["_ui_refresh", { action: "refresh" }, "_ui"],
	["search_tools", { query: "who uses an asset" }],
	["describe_tools", { names: ["get_asset_references"] }],
	["run_code", { code: `const [all, unused] = await Promise.all([tools.unreal.search_assets({ projectDir: "${CESIUM}", packagePaths: ["/CesiumForUnreal"] }), tools.unreal.find_unused_assets({ projectDir: "${CESIUM}" })]);\nreturn { assets: all.totalCount ?? all.assets?.length, unused: unused.unused.slice(0, 5) };` }]
];

/** The answers that have to be errors. */
const FAILING = ["create_ui5_app_again"];

/** The engine's log, in the form of `FOutputDeviceHelper::FormatLogLine`. */
const LOG = `[2026.11.24-08.12.03:114][  0]LogInit: Build: ++UE5+Release-5.6-CL-44394996
[2026.11.24-08.12.03:114][  0]LogInit: Engine Version: 5.6.1-44394996+++UE5+Release-5.6
[2026.11.24-08.12.09:541][  0]LogAssetRegistry: Display: Asset registry cache written as 41.1 MiB to ../../../DemoGame/Intermediate/CachedAssetRegistry_0.bin
[2026.11.24-08.12.11:870][  0]LogLinker: Warning: [AssetLog] C:/DemoGame/Content/TestAssets/MCP_TestPawn.uasset: Failed to load '/Game/Sounds/S_Door': Can't find file.
[2026.11.24-08.13.40:002][912]LogBlueprint: Error: [Compiler MCP_TestPawn] Could not find a variable named "Speed" in 'MCP_TestPawn'.
[2026.11.24-08.13.41:388][913]Cmd: stat fps
`;

/** An archive of version 3 with files that are stored as they are, in the form of `FPakFile` and `FPakEntry` of the engine. */
async function pak(files) {
	const { createHash } = await import("node:crypto");
	const hash = (bytes) => createHash("sha1").update(bytes).digest();
	const number = (value, size) => {
		const bytes = Buffer.alloc(size);
		size === 8 ? bytes.writeBigInt64LE(BigInt(value)) : bytes.writeInt32LE(value);
		return bytes;
	};
	const text = (value) => Buffer.concat([number(value.length + 1, 4), Buffer.from(`${value}\0`)]);
	const entry = (offset, data) => Buffer.concat([number(offset, 8), number(data.length, 8), number(data.length, 8), number(0, 4), hash(data), Buffer.alloc(1), number(0, 4)]);
	const [parts, index] = [[], [text("../../../"), number(files.length, 4)]];
	let offset = 0;
	for (const [name, data] of files) {
		const whole = Buffer.concat([entry(0, data), data]);
		index.push(text(name), entry(offset, data));
		parts.push(whole);
		offset += whole.length;
	}
	const bytes = Buffer.concat(index);
	const end = Buffer.concat([Buffer.from("e1126f5a", "hex"), number(3, 4), number(offset, 8), number(bytes.length, 8), hash(bytes)]);
	return Buffer.concat([...parts, bytes, end]);
}

/** Lays out the projects that the tools read. */
async function layOut(base) {
	const at = (...names) => path.join(base, ...names);
	const from = (...names) => path.join(packages, ...names);
	const write = async (name, text) => {
		await mkdir(path.dirname(at(name)), { recursive: true });
		await writeFile(at(name), text);
	};
	await cp(path.join(here, "../../docs/examples/shop"), at("shop"), { recursive: true });
	await write("shop/ui5.yaml", "specVersion: \"4.0\"\nmetadata:\n  name: shop\ntype: application\n");
	await write("shop/webapp/Old.controller.js", "sap.ui.define([\"sap/ui/core/mvc/Controller\", \"sap/m/MessageBox\"], function (Controller) {\n\tjQuery.sap.log.error(\"x\");\n\tsap.ui.getCore().byId(\"y\").setVisible(true);\n});\n");
	await write("orders/package.json", JSON.stringify({ name: "orders", version: "1.0.0" }));
	await write("orders/ui5.yaml", "specVersion: \"4.0\"\nmetadata:\n  name: orders\ntype: application\n");
	const metadata = `<?xml version="1.0" encoding="utf-8"?>\n<edmx:Edmx Version="4.0" xmlns:edmx="http://docs.oasis-open.org/odata/ns/edmx"><edmx:DataServices><Schema Namespace="Orders" xmlns="http://docs.oasis-open.org/odata/ns/edm"><EntityContainer Name="All"><EntitySet Name="Orders" EntityType="Orders.Order"/></EntityContainer><EntityType Name="Order"><Key><PropertyRef Name="ID"/></Key><Property Name="ID" Type="Edm.String" Nullable="false"/></EntityType></Schema></edmx:DataServices></edmx:Edmx>`;
	await write("orders/webapp/localService/metadata.xml", metadata);
	await write("orders/webapp/Component.js", "sap.ui.define([\"sap/fe/core/AppComponent\"], (Base) => Base.extend(\"orders.Component\", { metadata: { manifest: \"json\" } }));\n");
	const target = { type: "Component", id: "OrdersList", name: "sap.fe.templates.ListReport", options: { settings: { contextPath: "/Orders" } } };
	const routing = { routes: [{ name: "OrdersList", pattern: ":?query:", target: "OrdersList" }], targets: { OrdersList: target } };
	await write("orders/webapp/manifest.json", JSON.stringify({
		_version: "1.60.0",
		"sap.app": { id: "orders", type: "application", title: "Orders", applicationVersion: { version: "1.0.0" }, dataSources: { main: { uri: "/orders/", type: "OData", settings: { odataVersion: "4.0", localUri: "localService/metadata.xml" } } } },
		"sap.ui5": { dependencies: { minUI5Version: "1.120.0", libs: { "sap.fe.templates": {} } }, models: { "": { dataSource: "main" } }, routing }
	}, undefined, 2));
	const engine = (name) => JSON.stringify({ FileVersion: 3, EngineAssociation: "5.6", Modules: [{ Name: name, Type: "Runtime", LoadingPhase: "Default" }] });
	await write("DemoGame/DemoGame.uproject", engine("DemoGame"));
	await cp(from("prophecy/Content"), at("DemoGame/Content"), { recursive: true });
	await write("DemoGame/Saved/Logs/DemoGame.log", LOG);
	const content = await readFile(from("prophecy/Content/TestAssets/MCP_TestPawn.uasset"));
	await write("DemoGame/Build/DemoGame.pak", await pak([
		["DemoGame/Content/TestAssets/MCP_TestPawn.uasset", content],
		["DemoGame/Content/TestAssets/MCP_TestMaterial.uasset", await readFile(from("prophecy/Content/TestAssets/MCP_TestMaterial.uasset"))],
		["DemoGame/DemoGame.uproject", Buffer.from(engine("DemoGame"))]
	]));
	await cp(from("sentry-unreal/sample"), at("SentryPlayground"), { recursive: true });
	await write("SentryPlayground/Source/SentryPlayground/Door.h", "#pragma once\n#include \"GameFramework/Actor.h\"\n#include \"Door.generated.h\"\n\nUCLASS()\nclass ADoor : public AActor\n{\n\tGENERATED_BODY()\n};\n\nUCLASS()\nclass AGate : public ADoor\n{\n\tGENERATED_BODY()\n};\n");
	await write("Globe/Globe.uproject", engine("Globe"));
	await cp(from("cesium-unreal/Content"), at("Globe/Plugins/CesiumForUnreal/Content"), { recursive: true });
	await write("Globe/Plugins/CesiumForUnreal/CesiumForUnreal.uplugin", JSON.stringify({ FileVersion: 3, CanContainContent: true }));
	await cp(from("uasset-rs/assets/UE50/SimpleRefs"), at("versions/before"), { recursive: true });
	await cp(from("uasset-rs/assets/UE55/SimpleRefs"), at("versions/after"), { recursive: true });
}

/** A schema without what people read: its types, choices, defaults and names. */
const reduced = ({ properties = {}, required }) => ({
	type: "object",
	properties: Object.fromEntries(Object.entries(properties).map(([name, { type, enum: choices, default: preset }]) => [name, { type, enum: choices, default: preset }])),
	required
});

const base = await realpath(await mkdtemp(path.join(os.tmpdir(), "portcullis-record-")));
const clients = [];
/** A client of the server with these options, in a home of its own. */
async function start(...options) {
	const home = path.join(base, ".home");
	await mkdir(home, { recursive: true });
	const client = new Client({ name: "record", version: "1" });
	const env = { HOME: home, PATH: process.env.PATH, GIT_AUTHOR_NAME: "Ada", GIT_AUTHOR_EMAIL: "ada@example.com", GIT_COMMITTER_NAME: "Ada", GIT_COMMITTER_EMAIL: "ada@example.com" };
	await client.connect(new StdioClientTransport({ command: portcullis, args: ["serve", "--root", base, ...options], env, stderr: "ignore" }));
	clients.push(client);
	return client;
}

try {
	await layOut(base);
	const file = path.join(here, "answers/portcullis.json");
	const recorded = wanted.length ? JSON.parse(await readFile(file, "utf8")) : {};
	const sides = [];
	for (const client of [await start("--ui-tool", "--tools", "all"), await start("--tools", "code")]) {
		sides.push({ client, tools: (await client.listTools()).tools });
	}
	const offered = new Set(sides.flatMap(({ tools }) => tools.map(({ name }) => name)));
	// A list for clients has no output schemas. Views are made with them.
	const { tools: whole } = JSON.parse(execFileSync(portcullis, ["tools", "--json", "--tools", "all", "--root", base], { env: { HOME: path.join(base, ".home"), PATH: process.env.PATH } }));
	let page;
	for (const [name, given, of = name] of CALLS) {
		const input = given.page === "" ? { page } : given;
		const side = sides.find(({ tools }) => tools.some((one) => one.name === of));
		if (!side) {
			throw new Error(`${of} is not offered`);
		}
		offered.delete(of);
		const args = JSON.parse(JSON.stringify(input).replaceAll(SHOWN, base));
		const result = await side.client.callTool({ name: of, arguments: args }, { timeout: 600_000 });
		page ??= /ui5:\/\/docs\/[\w/-]+/.exec(JSON.stringify(result))?.[0];
		if (Boolean(result.isError) !== FAILING.includes(name)) {
			throw new Error(`${name}: ${JSON.stringify(result.content).slice(0, 1000)}`);
		}
		const { name: tool, title, description, inputSchema, annotations } = side.tools.find((one) => one.name === of);
		const outputSchema = whole.find((one) => one.name === of)?.outputSchema;
		if (!wanted.length || wanted.includes(name)) {
			const { content, structuredContent, isError } = result;
			const cut = description.length > 200 ? `${description.slice(0, description.lastIndexOf(" ", 200))} …` : description;
			const answer = { tool: { name: tool, title, description: cut, inputSchema: reduced(inputSchema), outputSchema, annotations }, input, result: { content, structuredContent, isError } };
			recorded[name] = JSON.parse(JSON.stringify(answer).replaceAll(base, SHOWN));
		}
	}
	if (offered.size) {
		throw new Error(`no answer is recorded of ${[...offered].join(", ")}`);
	}
	await writeFile(file, `{\n${Object.entries(recorded).sort().map(([name, answer]) => `${JSON.stringify(name)}: ${JSON.stringify(answer)}`).join(",\n")}\n}\n`);
} finally {
	await Promise.all(clients.map((client) => client.close()));
	await rm(base, { recursive: true, force: true });
}
