/**
 * Statements signed by the proxy's pinned Ed25519 key, as compact JWS (RFC 7515) with exactly the header
 * `{"alg":"Ed25519","typ":…,"kid":…}` (RFC 9864). This file builds and parses their text, without signing or verifying.
 */
import { isObject } from "../json/json.ts"
import { type Bytes, decodeBase64Url, encodeBase64Url, utf8 } from "../bytes/bytes.ts"
import { parseIJson } from "../json/iJson.ts"
import { iJsonOf } from "../json/surrogates.ts"
import type { SuiteId } from "./suites.ts"
import type { EndStatus, Form, VERSION } from "./transcript.ts"

export const STATEMENT_TYPES = {
  session: "sealgate-session+jwt",
  receipt: "sealgate-receipt+jwt",
  proof: "sealgate-proof+jwt",
} as const
export type StatementKind = keyof typeof STATEMENT_TYPES

/** Public part of an attestation key as a JWK (RFC 8037). */
export interface PublicJwk {
  readonly kty: "OKP"
  readonly crv: "Ed25519"
  readonly x: string
  readonly kid: string
  readonly alg: "Ed25519"
  readonly use: "sig"
}

/** A public key as a JWK, as in `GET /v1/keys`. */
export const publicJwk = (kid: string, publicKey: Bytes): PublicJwk => ({
  kty: "OKP",
  crv: "Ed25519",
  x: encodeBase64Url(publicKey),
  kid,
  alg: "Ed25519",
  use: "sig",
})

/** Limits of a session. `max_request_bytes` counts the bytes of the ciphertext. */
interface SessionLimits {
  readonly max_requests: number
  readonly max_request_bytes: number
}

interface Issued {
  /** The version of the protocol. */
  readonly version: typeof VERSION
  /** The `kid` of the attestation key that signed. */
  readonly iss: string
  /** Seconds since the epoch. */
  readonly iat: number
}

/** Claims of a session offer (sealed protocol §2). */
export interface SessionClaims extends SessionLimits, Issued {
  readonly session_id: string
  readonly public_key: string
  readonly suite: SuiteId
  /** Seconds since the epoch. */
  readonly expires_at: number
  /** Hash of the init request's body. */
  readonly init_hash: string
  /** Hash of the configuration that evidence covers; only with evidence mode. */
  readonly configuration?: string
}

/** Token counts as the provider reported them (OpenAI's `usage`), passed through unchanged. */
export type UsageClaims = Readonly<Record<string, unknown>>

/** Claims of a receipt (sealed protocol §5). Hashes and commitments are base64url of 32 bytes. */
export interface ReceiptClaims extends Issued {
  /** The client's `request_id`; `null` if it sent no valid one. */
  readonly jti: string | null
  readonly session_id: string
  readonly form: Form
  readonly status: EndStatus
  /** Provider and model of the last call; `null` if there was none. */
  readonly provider: string | null
  readonly model: string | null
  readonly finish_reasons: ReadonlyArray<string>
  readonly usage: UsageClaims | null
  /** Seconds since the epoch. */
  readonly received_at: number
  readonly completed_at: number
  readonly request_hash: string
  /** The chain after the data frames. */
  readonly root: string
  /** Number of data frames. */
  readonly count: number
  readonly request_commitment: string
  readonly response_commitment: string
  /** The operator's assertion, not a proof. */
  readonly prompt_persisted: false
  readonly software: string
}

/**
 * Claims of a stream's terminal proof, which anyone who recorded the stream can check without decrypting. It is not
 * encrypted, so only the sealed receipt says how the stream ended.
 */
export interface ProofClaims extends Issued {
  readonly session_id: string
  readonly request_hash: string
  /** The chain after all frames. */
  readonly root: string
  /** Number of frames, including the final one. */
  readonly count: number
}

export interface ClaimsOf {
  readonly session: SessionClaims
  readonly receipt: ReceiptClaims
  readonly proof: ProofClaims
}

/** The JWS header, the same for all statements of one kind and key. */
export const statementHeader = (kind: StatementKind, kid: string): string =>
  encodeBase64Url(utf8(JSON.stringify({ alg: "Ed25519", typ: STATEMENT_TYPES[kind], kid })))

/** The text that a statement's signature covers. It begins with the {@link statementHeader}. */
export const signingInput = <Kind extends StatementKind>(header: string, claims: ClaimsOf[Kind]): string =>
  `${header}.${encodeBase64Url(utf8(iJsonOf(claims)))}`

/** The compact JWS of a {@link signingInput} and its 64-byte signature. */
export const assembleStatement = (input: string, signature: Uint8Array): string =>
  `${input}.${encodeBase64Url(signature)}`

interface ParsedStatement {
  readonly typ: string
  readonly kid: string
  /** JSON, not yet decoded and not yet verified. */
  readonly claims: unknown
  readonly signed: Bytes
  readonly signature: Bytes
}

const HEADER_MEMBERS = "alg,kid,typ"

/** A SHA-256 thumbprint. */
const KID_BYTES = 32

/**
 * Parses a compact JWS without verifying it. Returns `undefined` if it is not one, its `alg` is not `Ed25519`, its `kid` is
 * not a thumbprint, or its header has members other than `alg`, `typ` and `kid`.
 */
export const parseStatement = (statement: string): ParsedStatement | undefined => {
  const parts = statement.split(".")
  if (parts.length !== 3) return undefined
  const [headerBytes, claimBytes, signature] = parts.map(decodeBase64Url)
  if (headerBytes === undefined || claimBytes === undefined || signature?.length !== 64) return undefined
  const header = parseJson(headerBytes)
  const claims = parseJson(claimBytes)
  if (!isObject(header) || !isObject(claims) || Object.keys(header).sort().join() !== HEADER_MEMBERS) return undefined
  const { alg, kid, typ } = header
  if (alg !== "Ed25519" || typeof kid !== "string" || typeof typ !== "string") return undefined
  // `kid` is shown to people before it is verified, so it must not be arbitrary text.
  if (decodeBase64Url(kid)?.length !== KID_BYTES) return undefined
  return { typ, kid, claims, signed: utf8(statement.slice(0, statement.lastIndexOf("."))), signature }
}

/** SHA-256 of this, as base64url, is the `kid` of an Ed25519 public key (RFC 7638 §3). */
export const thumbprintInput = (x: string): Bytes => utf8(JSON.stringify({ crv: "Ed25519", kty: "OKP", x }))

const parseJson = (bytes: Uint8Array): unknown => {
  try {
    return parseIJson(bytes)
  } catch {
    return undefined
  }
}
