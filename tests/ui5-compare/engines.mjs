// Runs the engines that the UI5 MCP server uses: @ui5/project, @ui5/linter, and Ajv with the schemas of
// @ui5/manifest.

import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { ui5lint } from "@ui5/linter";
import { graphFromObject } from "@ui5/project/graph";
import addFormats from "ajv-formats";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";

const require = createRequire(import.meta.url);
/** The file with the schema of adaptive cards. */
const { ADAPTIVE_CARD } = process.env;
const validators = new Map();

/** Removes the colours of terminals. */
const plain = (text) => text.replaceAll(/\u001b\[[0-9;]*m/g, "");

/** The details of a project, or the reason why the folder is not a project. */
export async function project(directory) {
	try {
		const graph = await graphFromObject({
			dependencyTree: { id: "ui5-project", version: "0.0.0", path: directory, dependencies: [] },
			cwd: directory,
			rootConfigPath: path.join(directory, "ui5.yaml"),
			resolveFrameworkDependencies: false
		});
		const root = graph.getRoot();
		return {
			projectName: root.getName(),
			projectType: root.getType(),
			frameworkName: root.getFrameworkName(),
			frameworkVersion: root.getFrameworkVersion(),
			frameworkLibraries: (root.getFrameworkDependencies() ?? []).map(({ name }) => name)
		};
	} catch (error) {
		return { error: plain(error.message) };
	}
}

/** The findings of the linter, or the error. */
export async function findings(rootDir) {
	try {
		return (await ui5lint({ rootDir, details: true, noConfig: true })).flatMap(({ filePath, messages }) =>
			messages.map((message) => ({ filePath, ...message })));
	} catch (error) {
		return { error: plain(error.message) };
	}
}

/** The schema of a version: from npm, or else from a clone of UI5/manifest; `undefined` if both lack it. */
function schemaOf(version, clone) {
	try {
		return require(`manifest-${version}/schema.json`);
	} catch {
		// npm has only a few versions.
	}
	try {
		const options = { encoding: "utf8", maxBuffer: 1 << 26, stdio: ["ignore", "pipe", "ignore"] };
		return JSON.parse(execFileSync("git", ["-C", clone, "show", `v${version}:schema.json`], options));
	} catch {
		return undefined;
	}
}

/** The schemas of 1.67.2 to 1.68.0 declare 2020-12 and use `items` as a tuple. They are changed, as in the UI5 MCP server. */
function withPrefixItems(schema) {
	for (const option of Object.values(schema.$defs ?? {}).flatMap(({ oneOf = [] }) => oneOf)) {
		if (Array.isArray(option.items)) {
			option.prefixItems = option.items;
			delete option.items;
		}
	}
	return schema;
}

/**
 * Ajv's list of errors with the schema of a version; `undefined` if there is no schema. If a schema does not list its own
 * version, the version is added, as in Portcullis: the version by which a manifest is checked must not be an error.
 */
export function errors(manifest, version, clone) {
	if (!validators.has(version)) {
		const schema = schemaOf(version, clone);
		if (!schema) {
			return undefined;
		}
		const known = schema.properties._version.enum;
		if (!known.includes(version)) {
			known.push(version);
		}
		if (schema.$schema.includes("2020-12")) {
			withPrefixItems(schema);
		}
		const options = { allErrors: true, strict: false, unicodeRegExp: false, logger: false };
		const ajv = schema.$schema.includes("2020-12") ? new Ajv2020(options) : new Ajv(options);
		addFormats(ajv);
		if (ajv instanceof Ajv2020) {
			ajv.addMetaSchema(require("ajv/dist/refs/json-schema-draft-07.json"));
		}
		ajv.addMetaSchema(require("ajv/dist/refs/json-schema-draft-06.json"));
		// Without this schema, adaptive cards are left out: see compare.mjs.
		const { id, ...adaptiveCard } = ADAPTIVE_CARD ? json(ADAPTIVE_CARD) : { definitions: { AdaptiveCard: {} } };
		ajv.addSchema({ ...adaptiveCard, $id: "https://adaptivecards.io/schemas/adaptive-card.json" });
		validators.set(version, ajv.compile(schema));
	}
	const validate = validators.get(version);
	return validate(manifest) ? [] : validate.errors;
}

/** A JSON file, or `undefined`. */
export function json(file) {
	try {
		return JSON.parse(readFileSync(path.resolve(file), "utf8"));
	} catch {
		return undefined;
	}
}
