// The globals of a program: `tools`, `console`, and random numbers that are the same in each round. The engine calls
// this function once, before it has the program. The function keeps the built-ins that it uses later, because the
// program may change them.
(function (names, start, log, search, describe) {
  "use strict";
  const stringify = JSON.stringify;
  const parse = JSON.parse;
  const has = Function.prototype.call.bind(Object.prototype.hasOwnProperty);
  const text = String;
  const OwnPromise = Promise;
  const OwnProxy = Proxy;
  const OwnTypeError = TypeError;
  const OwnError = Error;
  const { create, freeze, defineProperty } = Object;
  const pending = create(null);

  class ToolError extends Error {
    constructor(tool) {
      super("");
      this.tool = tool;
      this.kind = "";
    }
  }
  defineProperty(ToolError.prototype, "name", { value: "ToolError" });

  function toJson(value) {
    const json = stringify(value, (_, part) => (typeof part === "bigint" ? text(part) : part));
    return json === undefined ? "null" : json;
  }

  function call(tool, given) {
    if (given === undefined) {
      given = {};
    }
    if (typeof given !== "object" || given === null) {
      throw new OwnTypeError("the arguments of " + tool + " are one object, such as { name: value }");
    }
    // The error is made here, so that its stack has the place of the call.
    const error = new ToolError(tool);
    const number = start(tool, toJson(given));
    return new OwnPromise((resolve, reject) => {
      pending[number] = { error, resolve, reject };
    });
  }

  function show(object, name, value, enumerable) {
    defineProperty(object, name, { __proto__: null, value, enumerable, configurable: true });
  }

  // An object that the program can only read. Reading a name that the object lacks throws an error that lists its names.
  function guarded(target, what) {
    return new OwnProxy(target, {
      __proto__: null,
      get(_, key) {
        if (typeof key === "symbol" || has(target, key)) {
          return target[key];
        }
        if (key === "then" || key === "toJSON") {
          return undefined;
        }
        completeTools();
        if (has(target, key)) {
          return target[key];
        }
        throw new OwnTypeError(what + " has no " + stringify(key) + "; it has " + listed(target));
      },
      set: () => false,
      defineProperty: () => false,
      deleteProperty: () => false,
      setPrototypeOf: () => false,
      preventExtensions: () => false,
    });
  }

  function listed(object) {
    let all = "";
    let count = 0;
    for (const key in object) {
      count += 1;
      if (count <= 40) {
        all += (all === "" ? "" : ", ") + key;
      }
    }
    return count > 40 ? all + " and " + (count - 40) + " more" : all === "" ? "nothing" : all;
  }

  // The objects behind `tools` and `tools.<source>`. They are made when the program first uses `tools`, since making
  // them takes longer than a short program. Each tool has its own name. A name that is not an identifier, or that begins
  // with the name of its source, also has a plainer alias, which is not enumerable.
  const tools = create(null);
  const sources = create(null);
  let shownTools;
  let isComplete = false;

  function addNames(layout) {
    for (const source in layout.sources) {
      if (!has(layout.sources, source)) {
        continue;
      }
      const { names, plainer } = layout.sources[source];
      const target = (sources[source] ??= create(null));
      for (const name in names) {
        if (has(names, name)) {
          show(target, name, (given) => call(name, given), true);
        }
      }
      for (const alias in plainer) {
        if (has(plainer, alias)) {
          show(target, alias, target[plainer[alias]], false);
        }
      }
      show(tools, source, guarded(target, "tools." + source), true);
    }
    for (const alias in layout.plainer) {
      if (has(layout.plainer, alias)) {
        show(tools, alias, tools[layout.plainer[alias]], false);
      }
    }
    for (const name in helpers) {
      if (!has(tools, name)) {
        show(tools, name, helpers[name], false);
      }
    }
  }

  // An unknown tool may belong to a plugin that is still being compiled. The host waits for that plugin before it
  // returns the names a second time.
  function completeTools() {
    if (!isComplete) {
      isComplete = true;
      addNames(parse(names()));
    }
  }

  const helpers = create(null);
  helpers.search = (query, limit) => parse(search(text(query), limit === undefined ? 8 : +limit));
  helpers.describe = (wanted) => describe(stringify(typeof wanted === "string" ? [wanted] : wanted));

  function shown(value) {
    if (typeof value === "string") {
      return value;
    }
    if (value instanceof OwnError) {
      return text(value);
    }
    if (typeof value === "function" || typeof value === "symbol" || value === undefined) {
      return text(value);
    }
    try {
      return toJson(value);
    } catch (error) {
      return "(" + error.message + ")";
    }
  }

  const levels = { debug: "debug", log: "info", info: "info", warn: "warning", error: "error" };
  const console = create(null);
  for (const name in levels) {
    console[name] = (...parts) => {
      let line = "";
      for (let index = 0; index < parts.length; index += 1) {
        line += (index === 0 ? "" : " ") + shown(parts[index]);
      }
      log(levels[name], line);
    };
  }

  // sfc32, a small random number generator by Chris Doty-Humphrey, which passes the usual statistical tests.
  let a = 0;
  let b = 0;
  let c = 0x9e3779b9;
  let counter = 1;
  function random() {
    const sum = (((a + b) | 0) + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return (sum >>> 0) / 4294967296;
  }
  defineProperty(Math, "random", { value: random });

  delete globalThis.eval;
  delete globalThis.Function;
  defineProperty(globalThis, "tools", {
    get() {
      if (shownTools === undefined) {
        addNames(parse(names()));
        shownTools = guarded(tools, "tools");
      }
      return shownTools;
    },
  });
  defineProperty(globalThis, "console", { value: freeze(console) });
  defineProperty(globalThis, "ToolError", { value: ToolError });

  return {
    toJson,
    seed(low, high) {
      a = low;
      b = high;
      for (let round = 0; round < 12; round += 1) {
        random();
      }
    },
    settle(number, kind, answer) {
      const { error, resolve, reject } = pending[number];
      delete pending[number];
      if (kind === "") {
        resolve(parse(answer));
      } else {
        error.kind = kind;
        error.message = error.tool + ": " + answer;
        reject(error);
      }
    },
    nameOf(error) {
      return error instanceof OwnError ? text(error.name) : "";
    },
    messageOf(error) {
      return error instanceof OwnError ? text(error.message) : shown(error);
    },
    stackOf(error) {
      return error instanceof OwnError ? text(error.stack) : "";
    },
  };
});
