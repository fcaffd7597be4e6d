// A stand-in for another platform, for `node --require`: `process.platform` and `process.arch` are the variables PLATFORM
// and ARCH, and programs are started by the program RUNNER, such as Wine.
"use strict";
const child_process = require("node:child_process");

const { PLATFORM: platform, ARCH: arch, RUNNER: runner } = process.env;
Object.defineProperty(process, "platform", { value: platform });
Object.defineProperty(process, "arch", { value: arch });
const { spawn } = child_process;
if (runner) child_process.spawn = (file, values, options) => spawn(runner, [file, ...values], options);
