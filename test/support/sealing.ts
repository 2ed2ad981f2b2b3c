/** Seals requests by hand, for tests that need the envelope or invalid ones. */
import { randomUUID } from "node:crypto"
import { type Bytes, decodeBase64Url, encodeBase64Url } from "../../src/domain/bytes/bytes.ts"
import { hpkeSeal } from "../../src/client/crypto/hpke.ts"
import { type SealedRequestBody, sealRequest, type SentRequest } from "../../src/client/sealed/sealRequest.ts"
import { type ClientSession, sessionRequest, verifySession } from "../../src/client/sealed/session.ts"
import { keysByThumbprint, type TrustedKeys } from "../../src/client/verification/trust.ts"
import type { SuiteName } from "../../src/domain/protocol/suites.ts"
import { requestAad, requestInfo } from "../../src/domain/protocol/transcript.ts"
import { type JsonObject } from "../../src/domain/json/json.ts"
import type { RunningProxy } from "./proxy.ts"

type Reachable = Pick<RunningProxy, "url">

export const post = (proxy: Reachable, path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) =>
  fetch(proxy.url + path, {
    method: "POST",
    headers: { "content-type": "application/json", ...headers },
    body: JSON.stringify(body),
  })

/** The JSON of a response, which must be an object. */
export const jsonOf = async (response: Response): Promise<JsonObject> => {
  const value: unknown = await response.json()
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Error("not a JSON object")
  // Checked above.
  return value as JsonObject
}

/** The proxy's published keys, by key id. */
export const keysOf = async (proxy: Reachable): Promise<TrustedKeys> =>
  keysByThumbprint(await jsonOf(await fetch(`${proxy.url}/v1/keys`)))

/** A verified session. */
export const beginSession = async (proxy: Reachable, suites?: ReadonlyArray<SuiteName>): Promise<ClientSession> => {
  const request = sessionRequest(suites)
  const { attestation } = await jsonOf(await post(proxy, "/v1/init", JSON.parse(request.body)))
  return verifySession(String(attestation), await keysOf(proxy), request, Date.now())
}

/** A body that begins a session. */
export const INIT = JSON.parse(sessionRequest().body) as object

/** The payload of a request on the session's clock. */
export const payloadOf = (
  session: ClientSession,
  completion: object,
  requestId: string = randomUUID(),
  more: object = {},
): string =>
  JSON.stringify({
    request_id: requestId,
    issued_at: Date.now() + session.clockOffset,
    pace: 0,
    api: "chat.completions",
    body: completion,
    ...more,
  })

export const seal = (session: ClientSession, completion: object, more: object = {}): Promise<SentRequest> => {
  const requestId = randomUUID()
  return sealRequest(session, { requestId, payload: payloadOf(session, completion, requestId, more), credential: "" })
}

/** Seals any bytes as a block, in an HPKE context of the session or a wrong one. */
export const sealBlock = async (
  session: ClientSession,
  block: Bytes,
  wrong: { readonly publicKey?: Bytes; readonly info?: Bytes; readonly aad?: Bytes } = {},
): Promise<SealedRequestBody> => {
  const { ciphertext, enc } = await hpkeSeal(
    session.suite,
    wrong.publicKey ?? session.publicKey,
    wrong.info ?? requestInfo(session.attestationHash),
    wrong.aad ?? requestAad(session.idBytes),
    block,
  )
  return { session_id: session.id, enc: encodeBase64Url(enc), ciphertext: encodeBase64Url(ciphertext) }
}

/** Changes decoded byte `index` of a base64url text. */
export const withByteChanged = (text: string, index: number, mask = 1): string => {
  const bytes = decodeBase64Url(text)
  if (bytes === undefined) throw new Error("not base64url")
  bytes[index] = (bytes[index] ?? 0) ^ mask
  return encodeBase64Url(bytes)
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

/** Replaces the base64url character at `index` by the next one of the alphabet. */
export const withCharacterChanged = (text: string, index: number): string =>
  text.slice(0, index) + ALPHABET.charAt((ALPHABET.indexOf(text.charAt(index)) + 1) % 64) + text.slice(index + 1)
