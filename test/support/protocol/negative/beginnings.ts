/** How a session is asked for. */
import { b64u, bytes, hex, text } from "../reference.ts"
import type { Vectors } from "../vectors.ts"
import type { Asked } from "./asked.ts"
import { JSON_TYPE } from "./common.ts"

export const makeBeginnings = (vectors: Vectors): ReadonlyArray<Asked> => {
  const { begun_at_ms, request_body } = vectors.sessions.X25519
  const body = JSON.parse(request_body) as { readonly client_nonce: string; readonly suites: ReadonlyArray<object> }
  const [suite = {}] = body.suites
  const ask = (rule: string, why: string, more: Partial<Asked>): Asked => ({
    rules: [rule],
    why,
    path: "/v1/init",
    received_at_ms: begun_at_ms,
    content_type: JSON_TYPE,
    status: 400,
    code: "malformed",
    ...more,
  })
  const asking = (rule: string, why: string, change: object, more: Partial<Asked> = {}) =>
    ask(rule, why, { body: JSON.stringify({ ...body, ...change }), ...more })
  const taken = { status: 200, code: undefined }
  return [
    asking("P3", "a member that a proxy does not know", { note: 1 }, taken),
    asking(
      "P8",
      "suites that a proxy does not know, before one that it has",
      { suites: [{ kem: 65_535, kdf: 1, aead: 2 }, suite] },
      taken,
    ),
    asking(
      "P8",
      "no suite that a proxy has",
      { suites: [{ kem: 65_535, kdf: 1, aead: 2 }] },
      { code: "no-common-suite" },
    ),
    asking("P7", "a nonce of 15 bytes", { client_nonce: b64u(Buffer.alloc(15)) }),
    asking("P7", "a nonce of 65 bytes", { client_nonce: b64u(Buffer.alloc(65)) }),
    asking("P1", "a nonce with padding", { client_nonce: `${body.client_nonce}==` }),
    asking("P7", "no nonce", { client_nonce: undefined }),
    asking("P7", "no suites", { suites: [] }),
    asking("P7", "nine suites", { suites: Array.from({ length: 9 }, (_, i) => ({ kem: i, kdf: 1, aead: 2 })) }),
    asking("P7", "a suite twice", { suites: [suite, suite] }),
    asking("P7", "a number beyond 16 bits", { suites: [{ kem: 65_536, kdf: 1, aead: 2 }] }),
    asking("P7", "a number that is text", { suites: [{ kem: "32", kdf: 1, aead: 2 }] }),
    ask("P7", "no object", { body: "[]" }),
    ask("P2", "a member twice", { body: request_body.replace("{", '{"suites":[],') }),
    ask("P2", "a byte order mark", { body: `\ufeff${request_body}` }),
    ask("P2", "half of a surrogate pair", { body: request_body.replace("{", '{"note":"\\ud83d",') }),
    ask("P2", "bytes that are not UTF-8", {
      body_hex: hex(bytes(text('{"note":"'), Buffer.of(0xff), text(`",${request_body.slice(1)}`))),
    }),
    ask("P4", "65 levels", { body: request_body.replace("{", `{"note":${"[".repeat(64)}${"]".repeat(64)},`) }),
    ask("P44", "a body of another type", {
      body: request_body,
      content_type: "text/plain",
      status: 415,
      code: "unsupported-media-type",
    }),
  ]
}
