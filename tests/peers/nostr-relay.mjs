// Serves the events of a JSON-lines file with @nostr-relay/core on this machine; adds to
// the file what is published.  Prints "listening PORT".
// usage: node nostr-relay.mjs PAGE FILE [PORT [CERTIFICATE KEY]]; PORT 0: any
import { appendFileSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createRequire } from 'node:module';
import { join } from 'node:path';

// Where the packages were installed: outside of the source tree.
const require = createRequire(join(process.env.GS_PEERS, 'x.js'));
const { EventRepository, EventUtils, LogLevel } = require('@nostr-relay/common');
const { NostrRelay } = require('@nostr-relay/core');
const { WebSocketServer } = require('ws');

const [page, file, port = '0', cert, key] = process.argv.slice(2);

// The library's own matching leaves tags to the database.
function matchesTags(event, filter) {
	return Object.entries(filter).every(([name, values]) => name[0] !== '#' ||
		event.tags.some((tag) => tag[0] === name.slice(1) && values.includes(tag[1])));
}

function matches(event, filter) {
	return EventUtils.isMatchingFilter(event, filter) && matchesTags(event, filter);
}

function isBefore(a, b) {
	return b.created_at - a.created_at || (a.id < b.id ? -1 : 1);
}

class FileRepository extends EventRepository {
	constructor(lines) {
		super();
		this.events = lines.map((line) => JSON.parse(line)).sort(isBefore);
	}

	isSearchSupported() {
		return false;
	}

	upsert(event) {
		appendFileSync(file, JSON.stringify(event) + '\n');
		this.events.push(event);
		this.events.sort(isBefore);
		return { isDuplicate: false };
	}

	find(filter) {
		const limit = Math.min(filter.limit ?? Infinity, Number(page));
		return this.events.filter((e) => matches(e, filter)).slice(0, limit);
	}

	async destroy() {}
}

const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
const relay = new NostrRelay(new FileRepository(lines), { logLevel: LogLevel.ERROR });
const http = cert === undefined ? createServer() :
	createTlsServer({ cert: readFileSync(cert), key: readFileSync(key) });
const server = new WebSocketServer({ server: http });

server.on('connection', (socket) => {
	relay.handleConnection(socket);
	socket.on('message', (data) => relay.handleMessage(socket, JSON.parse(data.toString())));
	socket.on('close', () => relay.handleDisconnect(socket));
	socket.on('error', () => socket.terminate());
});
http.on('request', (request, response) => response.writeHead(404).end());
http.listen(Number(port), '127.0.0.1', () => {
	console.log(`listening ${http.address().port}`);
});
