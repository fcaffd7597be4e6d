class Row {
  constructor(id, text) {
    this.id = id;
    this.text = text;
    this.size = (id * 7919) % 1000;
  }

  get key() {
    return this.text.replace(/[^a-z]+/g, "-") + "/" + (this.id % 7);
  }
}

function* rows(count) {
  for (let id = 0; id < count; id += 1) {
    yield new Row(id, `row ${id} of the table`);
  }
}

const greetings = await Promise.all(
  Array.from({ length: 10 }, (_, number) => tools.echo.echo({ text: `hello ${number}` })),
);

const all = [...rows(1000)];
const large = all
  .filter((row) => row.size > 250)
  .map((row) => ({ ...row, key: row.key }))
  .sort((a, b) => b.size - a.size || a.id - b.id);

const groups = new Map();
for (const { key, size } of large) {
  const group = groups.get(key) ?? { count: 0, size: 0 };
  groups.set(key, { count: group.count + 1, size: group.size + size });
}

const matches = greetings.map((text) => /^hello (?<number>\d+)$/u.exec(text)?.groups.number ?? "?");
return {
  matches,
  groups: Object.fromEntries(groups),
  largest: large.slice(0, 3).map(({ id, size }) => [id, size]),
};
