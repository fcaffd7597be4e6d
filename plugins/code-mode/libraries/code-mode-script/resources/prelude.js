// What a program finds around it: `tools`, `console`, and random numbers that are the same in each round. The engine
// calls this function once, before the program. Built-ins that are used later are kept here, because the program may
// change them.
(function (names, seeds, start, log, search, describe) {
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
  const replace = Function.prototype.call.bind(String.prototype.replace);
  const startsWith = Function.prototype.call.bind(String.prototype.startsWith);
  const slice = Function.prototype.call.bind(String.prototype.slice);
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
    // Made here, the error knows the place of the call.
    const error = new ToolError(tool);
    const number = start(tool, toJson(given));
    return new OwnPromise((resolve, reject) => {
      pending[number] = { error, resolve, reject };
    });
  }

  function guarded(target, what, list) {
    return new OwnProxy(freeze(target), {
      get(_, key) {
        if (typeof key === "symbol" || has(target, key)) {
          return target[key];
        }
        if (key === "then" || key === "toJSON") {
          return undefined;
        }
        throw new OwnTypeError(what + " has no " + stringify(key) + "; it has " + list());
      },
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

  function identifier(name) {
    const plain = replace(name, /[^A-Za-z0-9_$]/g, "_");
    return replace(plain, /^(?=[0-9])/, "_");
  }

  // Every name is there as it is. A name that is no identifier, or that begins with the name of its source, has a
  // shorter or plainer name beside it, unless another tool has that.
  const sources = create(null);
  const all = parse(names);
  for (let index = 0; index < all.length; index += 1) {
    const [name, source] = all[index];
    sources[source] ??= create(null);
    sources[source][name] = (given) => call(name, given);
  }
  for (let index = 0; index < all.length; index += 1) {
    const [name, source] = all[index];
    const beginnings = [source + "_", identifier(source) + "_"];
    const aliases = [identifier(name)];
    for (let place = 0; place < beginnings.length; place += 1) {
      const beginning = beginnings[place];
      if (startsWith(name, beginning) && name.length > beginning.length) {
        aliases[aliases.length] = identifier(slice(name, beginning.length));
      }
    }
    for (let place = 0; place < aliases.length; place += 1) {
      const alias = aliases[place];
      if (!has(sources[source], alias)) {
        defineProperty(sources[source], alias, { value: sources[source][name], enumerable: false });
      }
    }
  }
  const tools = create(null);
  for (const source in sources) {
    const shown = guarded(sources[source], "tools." + source, () => listed(sources[source]));
    tools[source] = shown;
    const alias = identifier(source);
    if (!has(sources, alias) && !has(tools, alias)) {
      defineProperty(tools, alias, { value: shown, enumerable: false });
    }
  }
  const helpers = {
    search: (query, limit) => parse(search(text(query), limit === undefined ? 8 : +limit)),
    describe: (wanted) => describe(stringify(typeof wanted === "string" ? [wanted] : wanted)),
  };
  for (const name in helpers) {
    if (!has(tools, name)) {
      defineProperty(tools, name, { value: helpers[name], enumerable: false });
    }
  }

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

  // sfc32, a small generator by Chris Doty-Humphrey that passes the usual tests.
  let [a, b] = seeds;
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
  for (let round = 0; round < 12; round += 1) {
    random();
  }
  defineProperty(Math, "random", { value: random });

  delete globalThis.eval;
  delete globalThis.Function;
  defineProperty(globalThis, "tools", { value: guarded(tools, "tools", () => listed(sources)) });
  defineProperty(globalThis, "console", { value: freeze(console) });
  defineProperty(globalThis, "ToolError", { value: ToolError });

  return {
    toJson,
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
