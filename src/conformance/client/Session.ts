/** Offers sessions and opens the requests sealed to them. */
import { randomBytes } from "node:crypto"
import { type Bytes, concat, decodeBase64Url, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { parseIJson } from "../../domain/json/iJson.ts"
import { FLOOR, unpad } from "../../domain/protocol/padding.ts"
import { splitContent } from "../../domain/protocol/sealedContent.ts"
import type { Suite } from "../../domain/protocol/suites.ts"
import {
  requestAad,
  requestInfo,
  requestTranscript,
  responseExportContext,
  SESSION_ID_BYTES,
} from "../../domain/protocol/transcript.ts"
import { hpkeOpen, type OpenInput, type OpenOutput } from "../../services/sealing/Hpke.ts"
import { plainStorage } from "../../services/sealing/PlainStorage.ts"
import { type RecipientKey, recipientKey } from "../../services/sealing/recipientKeys.ts"
import { sha256 } from "../../services/sealing/sha256.ts"

const LIFETIME_SECONDS = 300

export interface Offered {
  readonly id: string
  readonly key: RecipientKey
  /** Correct claims of its offer. */
  readonly claims: JsonObject
}

/** Begins a session of `suite` for the sender of `body`. */
export const offer = (suite: Suite, body: Bytes): Offered => {
  const id = encodeBase64Url(randomBytes(SESSION_ID_BYTES))
  const key = recipientKey(suite, plainStorage())
  const now = Math.floor(Date.now() / 1000)
  return {
    id,
    key,
    claims: {
      iat: now,
      session_id: id,
      public_key: encodeBase64Url(key.publicKey),
      suite: suite.id,
      expires_at: now + LIFETIME_SECONDS,
      max_requests: 256,
      max_request_bytes: 65_536,
      init_hash: encodeBase64Url(sha256(body)),
    },
  }
}

/** A sealed request that was opened. */
export interface Opened {
  readonly sessionId: string
  readonly payloadBytes: Bytes
  readonly payload: JsonObject
  readonly credential: Bytes
  readonly enc: Bytes
  readonly secret: Bytes
  readonly requestHash: Bytes
}

const textIn = (body: JsonObject, member: string): Bytes => {
  const bytes = decodeBase64Url(String(body[member]))
  if (bytes === undefined) throw new Error(`${member} is not base64url`)
  return bytes
}

const hpkeOpened = (input: OpenInput): OpenOutput => {
  try {
    return hpkeOpen(input)
  } catch (cause) {
    throw new Error("it cannot be opened: its key, info or associated data are others than they must be", { cause })
  }
}

/** Opens a request that was sealed to `offered` under `attestation`. Throws an error that names the fault. */
export const open = (offered: Offered, attestation: string, body: JsonObject): Opened => {
  const [enc, ciphertext] = [textIn(body, "enc"), textIn(body, "ciphertext")]
  const attestationHash = sha256(utf8(attestation))
  const { plaintext, secret } = hpkeOpened({
    key: offered.key,
    enc,
    info: requestInfo(attestationHash),
    aad: requestAad(textIn(body, "session_id")),
    ciphertext,
    exportContext: responseExportContext,
  })
  const block = unpad(plaintext, FLOOR)
  if (block === undefined) throw new Error("its block is not padded as it must be")
  const content = splitContent(block)
  if (content === undefined) throw new Error("there is no credential and payload in its block")
  const payload = parseIJson(content.payload)
  if (!isObject(payload)) throw new Error("its payload is not a JSON object")
  return {
    sessionId: offered.id,
    payloadBytes: content.payload,
    payload,
    credential: content.credential,
    enc,
    secret,
    requestHash: sha256(requestTranscript(attestationHash, enc, sha256(ciphertext))),
  }
}

/** Makes up a request, for frames of another exchange. */
export const foreignTo = (opened: Opened): Opened => ({
  ...opened,
  secret: new Uint8Array(randomBytes(opened.secret.length)),
  requestHash: sha256(concat(opened.requestHash, utf8("another"))),
})
