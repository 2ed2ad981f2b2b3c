/** Turns the text of a valid object into JSON that is not I-JSON (RFC 7493). */
import { concat, utf8 } from "../../../domain/bytes/bytes.ts"

type Spoil = (json: string) => string | Uint8Array

const beginning = (json: string, first: string) => `{${first},${json.slice(1)}`
const withBytes = (json: string, ...bytes: ReadonlyArray<number>) =>
  concat(utf8('{"note":"'), Uint8Array.from(bytes), utf8(`",${json.slice(1)}`))

export const BAD_JSON: ReadonlyArray<readonly [what: string, spoil: Spoil]> = [
  ["a member twice", (json) => beginning(json, '"note":1,"note":1')],
  ["a member twice, once with an escape", (json) => beginning(json, '"note":1,"\\u006eote":2')],
  ["a member twice within a member", (json) => beginning(json, '"note":[{"a":1,"a":2}]')],
  ["a byte order mark", (json) => `\uFEFF${json}`],
  ["half of a surrogate pair", (json) => beginning(json, '"note":"\\ud83e"')],
  ["the other half of a surrogate pair, in a name", (json) => beginning(json, '"\\udd6d":1')],
  ["a byte that is not UTF-8", (json) => withBytes(json, 0xff)],
  ["a surrogate in UTF-8", (json) => withBytes(json, 0xed, 0xa0, 0x80)],
  ["an overlong character", (json) => withBytes(json, 0xc0, 0xaf)],
  ["a text cut short", (json) => json.slice(0, -1)],
  ["more text after the value", (json) => `${json}{}`],
]
