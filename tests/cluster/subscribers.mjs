// Clients that are subscribed to resources, in both eras of MCP, and those who change the resources. Each resource is
// changed once, so that it is clear which change a client was told.

import assert from "node:assert/strict";
import { Failure, repeated } from "./clients.mjs";
import { pause } from "./programs.mjs";

/** How long after the acknowledgment of a change a client may be told, in milliseconds, whatever is killed meanwhile. */
const PATIENCE = 45_000;
/** The number of resources to which a client is subscribed at once. */
const AT_ONCE = 16;

/** What subscribers were told. `delays`: from the acknowledgment of a change, in milliseconds. */
export const heard = { changes: 0, told: 0, read: 0, again: 0, unchanged: 0, streams: 0, resumed: 0, delays: [], ends: new Map() };

const isUpdate = ({ method }) => method === "notifications/resources/updated";

/** A client with subscriptions. */
class Subscriber {
	constructor(client, name) {
		Object.assign(this, { client, name, key: `changed-${name}`, number: 0, acknowledged: 0, waiting: new Map(), told: new Set(), free: [] });
		/** Counts the streams. A change during which a stream ended is not expected on the next one, if streams are not resumed. */
		this.stream = 0;
	}

	/** Resources that nobody has changed yet. Once the client is subscribed to them, they are put into `free`. */
	fresh() {
		return Array.from({ length: AT_ONCE }, () => `test://template/${this.name}-${++this.number}/data`);
	}

	/** Whether all resources were changed, and the client was told of them. */
	get isUsedUp() {
		return this.free.length === 0 && this.waiting.size === 0 && !this.changing;
	}

	/** The client was told that a resource has changed. */
	hear({ params: { uri } }) {
		const change = this.waiting.get(uri);
		heard.told += change ? 1 : 0;
		heard.again += this.told.has(uri) ? 1 : 0;
		if (change) {
			heard.delays.push(Date.now() - change.at);
			this.waiting.delete(uri);
		}
		// After a host was killed, clients are told of resources that may have changed.
		if (change || uri === this.changing) {
			this.told.add(uri);
		} else if (!this.told.has(uri)) {
			heard.unchanged += 1;
		}
	}

	/** Fails if the client was not told of a change in time. */
	check() {
		for (const [uri, { at, stream }] of this.waiting) {
			assert.ok(Date.now() - at < PATIENCE, `${this.name} was not told of ${uri}, which was changed ${Date.now() - at} ms ago during stream ${stream} (now ${this.stream})`);
		}
	}

	/** Reads the state of the resources, which has all changes that were acknowledged. */
	async read() {
		const { acknowledged } = this;
		const answer = await repeated(60, async () => {
			const found = await this.reader.tool("keep", { steps: [{ do: "get", key: this.key }] });
			if (!/^(version|nothing)/.test(found)) {
				throw new Failure(found);
			}
			return found;
		});
		const value = Number(answer.match(/"(\d+)"$/)?.[1] ?? 0);
		assert.ok(value >= acknowledged, `${this.name} reads ${value} after ${acknowledged} was acknowledged`);
		heard.read += 1;
	}

	/** Handles the events of a stream until it ends, or the client leaves. */
	async follow(stream, leaves) {
		for (let next = 0; ; ) {
			for (; next < stream.events.length; next++) {
				if (isUpdate(stream.events[next].message)) {
					this.hear(stream.events[next].message);
				}
			}
			this.check();
			if (stream.ended || leaves()) {
				return;
			}
			await stream.change(200);
		}
	}

	noteEnd(how) {
		heard.ends.set(how, (heard.ends.get(how) ?? 0) + 1);
	}
}

/** Subscribes with `subscriptions/listen` of MCP 2026-07-28. A stream that ended is not resumed: the client reads the state. */
export class ModernSubscriber extends Subscriber {
	constructor(client, name) {
		super(client, name);
		this.reader = client;
	}

	async run(isDone) {
		while (!isDone()) {
			try {
				await this.listen(this.fresh(), isDone);
			} catch (failure) {
				if (!(failure instanceof Failure)) {
					throw failure;
				}
				await pause(250);
			}
		}
	}

	async listen(uris, isDone) {
		const stream = await this.client.stream("subscriptions/listen", { notifications: { resourceSubscriptions: uris } });
		const first = await stream.wait(() => true, 30_000);
		if (first?.method !== "notifications/subscriptions/acknowledged") {
			stream.close();
			throw new Failure(first?.error ? `error ${first.error.code}: ${first.error.message}` : "no subscription");
		}
		assert.deepEqual(first.params.notifications.resourceSubscriptions, uris);
		heard.streams += 1;
		this.stream += 1;
		this.free = [...uris];
		await this.follow(stream, () => isDone() || this.isUsedUp);
		const answer = stream.events.find(({ message }) => message.id === stream.id)?.message;
		this.noteEnd(stream.ended ? (answer?.error ? `error ${answer.error.code}` : answer ? "a result" : "cut off") : "all were told");
		stream.close();
		[this.free, this.stream] = [[], this.stream + 1];
		this.waiting.clear();
		await this.read();
	}
}

/** Subscribes in a session of MCP 2025-11-25. Subscriptions outlast event streams, which are resumed at any host. */
export class LegacySubscriber extends Subscriber {
	/** `reader`: a client that reads the state. */
	constructor(client, name, reader) {
		super(client, name);
		this.reader = reader;
	}

	async run(isDone) {
		await repeated(60, () => this.client.open());
		const following = this.followAlways(() => isDone() || this.hasFailed);
		const subscribing = this.subscribeAlways(isDone).catch((error) => {
			this.hasFailed = true;
			throw error;
		});
		await Promise.all([following, subscribing]);
	}

	/** Subscribes to new resources when the client was told of the last ones. */
	async subscribeAlways(isDone) {
		while (!isDone()) {
			const uris = this.fresh();
			for (const uri of uris) {
				await this.client.ask("resources/subscribe", { uri });
			}
			this.free = [...uris];
			while (!isDone() && !this.isUsedUp) {
				this.check();
				await pause(100);
			}
			for (const uri of uris) {
				await this.client.ask("resources/unsubscribe", { uri });
			}
		}
	}

	async followAlways(isDone) {
		let after;
		while (!isDone()) {
			const more = after === undefined ? {} : { "last-event-id": after };
			const stream = await repeated(60, () => this.client.stream("GET", more));
			heard[after === undefined ? "streams" : "resumed"] += 1;
			await this.follow(stream, isDone);
			this.noteEnd(stream.ended ? "cut off, and resumed" : "the end of the test");
			after = stream.lastId ?? after;
			stream.close();
			await this.read();
		}
	}
}

/** Changes a resource of a subscriber, and tells its subscribers. */
export async function change(client, subscriber) {
	const uri = subscriber.changing ? undefined : subscriber.free.shift();
	if (!uri) {
		return;
	}
	subscriber.changing = uri;
	try {
		const value = Number(uri.match(/-(\d+)\//)[1]);
		const written = await client.tool("keep", { steps: [{ do: "set", key: subscriber.key, value: String(value) }] });
		if (!/^version \d+$/.test(written)) {
			throw new Failure(written);
		}
		subscriber.acknowledged = value;
		const { stream } = subscriber;
		await client.tool("touch", { uri });
		heard.changes += 1;
		// A client may be told before the acknowledgment arrives.
		if (subscriber.told.has(uri)) {
			heard.told += 1;
			heard.delays.push(0);
		} else if (subscriber instanceof LegacySubscriber || stream === subscriber.stream) {
			subscriber.waiting.set(uri, { at: Date.now(), stream });
		}
	} finally {
		subscriber.changing = undefined;
	}
}
