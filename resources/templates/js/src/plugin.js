// The tools of this plugin are the functions of the interface `lines` in wit/plugin.wit.
// What a function throws as text is the error that the model reads.

function found(text, pattern) {
  if (pattern.text === "") {
    throw "pattern.text is empty: write the text that a line must contain";
  }
  const folded = (one) => (pattern.ignoreCase ? one.toLowerCase() : one);
  const wanted = folded(pattern.text);
  return text
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line }))
    .filter((line) => folded(line.text).includes(wanted));
}

async function page(url) {
  let answer;
  try {
    answer = await fetch(url);
  } catch (error) {
    throw `fetching ${url}: ${error.message}; the operator must grant the host`;
  }
  if (!answer.ok) {
    throw `fetching ${url}: the server answered ${answer.status}`;
  }
  return answer.text();
}

export const lines = {
  findLines(text, pattern) {
    return found(text, pattern);
  },

  async findLinesOfPage(url, pattern) {
    return found(await page(url), pattern);
  },
};
