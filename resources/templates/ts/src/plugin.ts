// The tools of this plugin are the functions of the interface `lines` in wit/plugin.wit.
// What a function throws as text is the error that the model reads.

import type { Line, Pattern } from "local:plugin/lines";

function found(text: string, pattern: Pattern): Line[] {
  if (pattern.text === "") {
    throw "pattern.text is empty: write the text that a line must contain";
  }
  const folded = (one: string) => (pattern.ignoreCase ? one.toLowerCase() : one);
  const wanted = folded(pattern.text);
  return text
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line }))
    .filter((line) => folded(line.text).includes(wanted));
}

async function page(url: string): Promise<string> {
  let answer: Response;
  try {
    answer = await fetch(url);
  } catch (error) {
    throw `fetching ${url}: ${(error as Error).message}; the operator must grant the host`;
  }
  if (!answer.ok) {
    throw `fetching ${url}: the server answered ${answer.status}`;
  }
  return answer.text();
}

export const lines = {
  findLines(text: string, pattern: Pattern): Line[] {
    return found(text, pattern);
  },

  async findLinesOfPage(url: string, pattern: Pattern): Promise<Line[]> {
    return found(await page(url), pattern);
  },
};
