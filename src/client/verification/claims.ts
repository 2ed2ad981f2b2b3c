import type { ProofClaims, ReceiptClaims, SessionClaims } from "../../domain/protocol/statement.ts"
import { bytes, integer, literal, objectMember, string, stringOrNull, strings } from "./decode.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { HASH_BYTES, VERSION } from "../../domain/protocol/transcript.ts"
import { Tampered } from "../errors.ts"

export const STATUSES = ["complete", "failed", "aborted"] as const

/** Base64url text of exactly 32 bytes. */
const hash = (object: JsonObject, member: string): string => {
  bytes(object, member, HASH_BYTES)
  return string(object, member)
}

/** Decodes the claims that every statement has. */
const issued = (object: JsonObject) => {
  const version = integer(object, "version")
  if (version !== VERSION) throw new Tampered(`It is of version ${version} of the protocol, and this is ${VERSION}.`)
  return { version: VERSION, iss: string(object, "iss"), iat: integer(object, "iat") } as const
}

export const sessionClaimsFrom = (object: JsonObject): SessionClaims => {
  const suite = objectMember(object, "suite")
  return {
    ...issued(object),
    session_id: string(object, "session_id"),
    public_key: string(object, "public_key"),
    suite: { kem: integer(suite, "kem"), kdf: integer(suite, "kdf"), aead: integer(suite, "aead") },
    expires_at: integer(object, "expires_at"),
    max_requests: integer(object, "max_requests"),
    max_request_bytes: integer(object, "max_request_bytes"),
    init_hash: hash(object, "init_hash"),
    ...(object["configuration"] === undefined ? {} : { configuration: hash(object, "configuration") }),
  }
}

export const receiptClaimsFrom = (object: JsonObject): ReceiptClaims => {
  const usage = object["usage"]
  if (usage !== null && !isObject(usage)) throw new Tampered("usage is neither null nor an object.")
  if (object["prompt_persisted"] !== false) throw new Tampered("The receipt does not claim prompt_persisted: false.")
  return {
    ...issued(object),
    jti: stringOrNull(object, "jti"),
    session_id: string(object, "session_id"),
    form: literal(object, "form", ["complete", "stream"]),
    status: literal(object, "status", STATUSES),
    provider: stringOrNull(object, "provider"),
    model: stringOrNull(object, "model"),
    finish_reasons: strings(object, "finish_reasons"),
    usage,
    received_at: integer(object, "received_at"),
    completed_at: integer(object, "completed_at"),
    request_hash: hash(object, "request_hash"),
    root: hash(object, "root"),
    count: integer(object, "count"),
    request_commitment: hash(object, "request_commitment"),
    response_commitment: hash(object, "response_commitment"),
    prompt_persisted: false,
    software: string(object, "software"),
  }
}

export const proofClaimsFrom = (object: JsonObject): ProofClaims => ({
  ...issued(object),
  session_id: string(object, "session_id"),
  request_hash: hash(object, "request_hash"),
  root: hash(object, "root"),
  count: integer(object, "count"),
})
