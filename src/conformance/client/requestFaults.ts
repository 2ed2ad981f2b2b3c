/** Finds faults in a client's requests and describes each in a sentence. */
import type { IncomingMessage } from "node:http"
import { decodeBase64Url } from "../../domain/bytes/bytes.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { MAX_SUITES, type SuiteId } from "../../domain/protocol/suites.ts"
import { MAX_SKEW_MS } from "../../domain/protocol/transcript.ts"
import type { Unsealed } from "../lyingProxy/session.ts"

/** Returns the sentence of each condition that does not hold. */
const faults = (...checks: ReadonlyArray<readonly [holds: boolean, otherwise: string]>): ReadonlyArray<string> =>
  checks.filter(([holds]) => !holds).map(([, otherwise]) => otherwise)

const isJson = ({ headers }: IncomingMessage): boolean =>
  /^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")

const isUint16 = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 65_535

const isSuite = (value: unknown): value is JsonObject & SuiteId =>
  isObject(value) && isUint16(value["kem"]) && isUint16(value["kdf"]) && isUint16(value["aead"])

const objectIn = (body: Uint8Array): JsonObject => {
  const value = parseIJson(body)
  return isObject(value) ? value : {}
}

const NONCE = { least: 16, most: 64 }

export const faultsOfInit = (request: IncomingMessage, body: Uint8Array) => {
  const { client_nonce, suites } = objectIn(body)
  const nonce = typeof client_nonce === "string" ? (decodeBase64Url(client_nonce)?.length ?? 0) : 0
  const offered = Array.isArray(suites) ? suites : []
  return {
    suites: offered.filter(isSuite),
    faults: faults(
      [isJson(request), "it begins a session without saying that it sends application/json"],
      [nonce >= NONCE.least && nonce <= NONCE.most, "its client_nonce is not base64url of 16 to 64 bytes"],
      [
        offered.length >= 1 && offered.length <= MAX_SUITES && offered.every(isSuite),
        "its suites are not 1 to 8 objects of three integers",
      ],
      [new Set(offered.map((each) => JSON.stringify(each))).size === offered.length, "it offers a suite twice"],
    ),
  }
}

const UUID = /^[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}$/
const MAX_CREDENTIAL_BYTES = 8192

export const faultsOfRequest = ({ credential, payload }: Unsealed): ReadonlyArray<string> => {
  const { api, body, issued_at, request_id } = payload
  const skew = Math.abs(Number(issued_at) - Date.now())
  return faults(
    [credential.length <= MAX_CREDENTIAL_BYTES, "its credential is longer than 8192 bytes"],
    [typeof request_id === "string" && UUID.test(request_id), "its request_id is no UUID in lower case"],
    [Number.isSafeInteger(issued_at) && skew <= MAX_SKEW_MS, "its issued_at is not now, in milliseconds"],
    [api === "chat.completions", "its api is not chat.completions"],
    [
      isObject(body) && (body["messages"] === undefined) !== (body["prompt"] === undefined),
      "its body has not exactly one of messages and prompt",
    ],
  )
}
