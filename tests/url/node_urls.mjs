// Prints the URLs that Node, like a browser, makes of texts. Reads one text a line from standard
// input; writes for each the serialisation of the URL without its fragment, or `-` if Freshet must
// refuse it. --digests writes a digest of each hundred texts and answers instead. To make
// node_digests.txt:
//
//   build/release/tests/url-corpus | node tests/url/node_urls.mjs --digests > tests/url/node_digests.txt
import { readFileSync, writeFileSync } from 'node:fs';

// Later editions of the standard escape `^` in paths, so their answers differ.
if (new URL('http://x/^').pathname !== '/^') {
  process.stderr.write(`Node ${process.version} follows a later edition of the URL standard\n`);
  process.exit(3);
}

// URLs that the standard accepts and Freshet refuses (docs/decisions/0002-canonical-urls.md).
function refused(given, url) {
  if (/[\0-\x1f\x7f]/.test(given)) return true;
  const slashes = /^ *https?:[/\\]{2,}/i.exec(given);
  if (slashes === null) return true;
  if (given.slice(slashes[0].length).split(/[/\\?#]/, 1)[0].includes('@')) return true;
  const name = url.hostname.replace(/\.+$/, '');
  return name === '' || name.length > 253 || url.href.length > 8192;
}

function answer(given) {
  try {
    const url = new URL(given);
    url.hash = '';
    // Node 20 keeps dot segments after a segment like `.a`, unless the path has an escape.
    url.pathname = `/%2e${url.pathname}`;
    return refused(given, url) ? '-' : url.href;
  } catch {
    return '-';
  }
}

// 32-bit FNV-1a.
function digest(text) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0).toString(16).padStart(8, '0');
}

const texts = readFileSync(0, 'utf8').split('\n').slice(0, -1);
const answers = texts.map(answer);
let out = answers;
if (process.argv[2] === '--digests') {
  out = [`# Made by Node ${process.versions.node} with node_urls.mjs, which says how.`];
  for (let i = 0; i < texts.length; i += 100) {
    const rows = texts.slice(i, i + 100).map((text, j) => `${text}\n${answers[i + j]}\n`);
    out.push(digest(rows.join('')));
  }
}
writeFileSync(1, out.join('\n') + '\n');
