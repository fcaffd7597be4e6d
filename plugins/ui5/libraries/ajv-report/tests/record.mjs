// Writes the errors that Ajv reports into every line of cases.jsonl:
//   npm install --no-save ajv@8.20.0 ajv-formats@3.0.1 && node record.mjs cases.jsonl
import {readFileSync, writeFileSync} from "node:fs";
import Ajv from "ajv";
import Ajv2020 from "ajv/dist/2020.js";
import addFormats from "ajv-formats";

const [file] = process.argv.slice(2);
const lines = readFileSync(file, "utf8").split("\n").filter((line) => line !== "");
const recorded = lines.map((line) => {
    const {about, dialect, schema, instance} = JSON.parse(line);
    const Class = dialect === "2020-12" ? Ajv2020.default : Ajv.default;
    const ajv = new Class({allErrors: true, strict: false, unicodeRegExp: false, logger: false});
    addFormats.default(ajv);
    const validate = ajv.compile(schema);
    const errors = validate(instance) ? [] : validate.errors;
    return JSON.stringify({about, dialect, schema, instance, errors});
});
writeFileSync(file, recorded.join("\n") + "\n");
