// Publishes the events of a JSON-lines file; each has to be accepted.
// usage: node publish.mjs URL FILE [CA]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

const require = createRequire(join(process.env.GS_PEERS, 'x.js'));
const { WebSocket } = require('ws');

const [url, file, ca] = process.argv.slice(2);
const lines = readFileSync(file, 'utf8').split('\n').filter((line) => line !== '');
const socket = new WebSocket(url, ca === undefined ? {} : { ca: readFileSync(ca) });
let answers = 0;

socket.on('open', () => lines.forEach((line) => socket.send(`["EVENT",${line}]`)));
socket.on('message', (data) => {
	const [verb, , accepted] = JSON.parse(data.toString());

	if (verb !== 'OK' || !accepted)
		throw new Error(`refused: ${data}`);
	if (++answers === lines.length)
		socket.close();
});
