// Serves the events of a JSON-lines file with @nostr-relay/core, on a free port of this
// machine.  usage: node nostr-relay.mjs PAGE FILE; prints "listening PORT"
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// Where the packages were installed: outside of the source tree.
const require = createRequire(join(process.env.GS_PEERS, 'x.js'));
const { EventRepository, EventUtils, LogLevel } = require('@nostr-relay/common');
const { NostrRelay } = require('@nostr-relay/core');
const { WebSocketServer } = require('ws');

const [page, file] = process.argv.slice(2);

// The library's own matching leaves tags to the database.
function matchesTags(event, filter) {
	return Object.entries(filter).every(([key, values]) => key[0] !== '#' ||
		event.tags.some((tag) => tag[0] === key.slice(1) && values.includes(tag[1])));
}

function matches(event, filter) {
	return EventUtils.isMatchingFilter(event, filter) && matchesTags(event, filter);
}

class FileRepository extends EventRepository {
	constructor(lines) {
		super();
		this.events = lines.map((line) => JSON.parse(line));
		this.events.sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? -1 : 1));
	}

	isSearchSupported() {
		return false;
	}

	upsert() {
		throw new Error('read only');
	}

	find(filter) {
		const limit = Math.min(filter.limit ?? Infinity, Number(page));
		return this.events.filter((e) => matches(e, filter)).slice(0, limit);
	}

	async destroy() {}
}

const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
const relay = new NostrRelay(new FileRepository(lines), { logLevel: LogLevel.ERROR });
const server = new WebSocketServer({ host: '127.0.0.1', port: 0 }, () => {
	console.log(`listening ${server.address().port}`);
});

server.on('connection', (socket) => {
	relay.handleConnection(socket);
	socket.on('message', (data) => relay.handleMessage(socket, JSON.parse(data.toString())));
	socket.on('close', () => relay.handleDisconnect(socket));
	socket.on('error', () => socket.terminate());
});
