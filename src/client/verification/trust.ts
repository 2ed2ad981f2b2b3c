/** Attestation keys that a client trusts: those whose thumbprint is pinned. */
import { type Bytes, encodeBase64Url } from "../../domain/bytes/bytes.ts"
import {
  type ClaimsOf,
  parseStatement,
  STATEMENT_TYPES,
  type StatementKind,
  thumbprintInput,
} from "../../domain/protocol/statement.ts"
import { decodeBytes, string } from "./decode.ts"
import { isObject, type JsonObject } from "../../domain/json/json.ts"
import { KeyMissing, NoPins, PinMismatch, Tampered } from "../errors.ts"
import { verifyEd25519 } from "../crypto/ed25519.ts"
import { sha256 } from "../crypto/primitives.ts"

const PUBLIC_KEY_BYTES = 32

/** Pins and keys that statements are checked against. */
export interface TrustOptions {
  /** Key ids (`kid`) of the trusted identities. */
  readonly pins: ReadonlyArray<string>
  /** Public keys as a JWKS (RFC 7517), from any source: a key counts only if its thumbprint is pinned. */
  readonly keys: unknown
}

/** Public keys by their computed thumbprint. */
export type TrustedKeys = ReadonlyMap<string, Bytes>

/** Returns the `kid` of an Ed25519 public key: its RFC 7638 thumbprint. */
export const thumbprint = async (publicKey: Bytes): Promise<string> =>
  encodeBase64Url(await sha256(thumbprintInput(encodeBase64Url(publicKey))))

/** Returns the Ed25519 keys of a set by computed thumbprint, ignoring the `kid` in the set. */
export const keysByThumbprint = async (set: unknown): Promise<TrustedKeys> => {
  if (!isObject(set) || !Array.isArray(set["keys"])) throw new Tampered("The key set is not a JWKS.")
  const keys = new Map<string, Bytes>()
  for (const jwk of set["keys"]) {
    if (!isObject(jwk) || jwk["kty"] !== "OKP" || jwk["crv"] !== "Ed25519") continue
    const publicKey = decodeBytes(string(jwk, "x"), "x", PUBLIC_KEY_BYTES)
    keys.set(await thumbprint(publicKey), publicKey)
  }
  return keys
}

/** Returns the pinned keys of a set. */
export const trustKeys = async ({ keys, pins }: TrustOptions): Promise<TrustedKeys> => {
  if (pins.length === 0) throw new NoPins()
  const all = await keysByThumbprint(keys)
  return new Map([...all].filter(([kid]) => pins.includes(kid)))
}

/**
 * Checks that `statement` is of the given kind and signed by a trusted key, and returns its claims, still undecoded.
 * The key is taken from the trusted ones by `kid`, never from the message.
 *
 * @param pins trusted key ids; may include some without a key in `trusted`
 */
export const verifyStatement = async <Kind extends StatementKind>(
  kind: Kind,
  statement: string,
  trusted: TrustedKeys,
  pins: ReadonlyArray<string> = [...trusted.keys()],
): Promise<JsonObject & { readonly iss: ClaimsOf[Kind]["iss"] }> => {
  const parsed = parseStatement(statement)
  if (parsed === undefined) throw new Tampered(`The ${kind} statement is not a well-formed Ed25519 JWS.`)
  if (parsed.typ !== STATEMENT_TYPES[kind]) throw new Tampered(`The ${kind} statement is of another type.`)
  const publicKey = trusted.get(parsed.kid)
  if (publicKey === undefined) {
    throw pins.includes(parsed.kid) ? new KeyMissing(parsed.kid) : new PinMismatch(pins, parsed.kid)
  }
  if (!(await verifyEd25519(parsed.signature, parsed.signed, publicKey))) {
    throw new Tampered(`The signature of the ${kind} statement is wrong.`)
  }
  // parseStatement returned an object. The caller decodes the claims of its kind.
  const claims = parsed.claims as JsonObject
  if (claims["iss"] !== parsed.kid) throw new Tampered(`The ${kind} statement names another issuer than its key.`)
  return { ...claims, iss: parsed.kid }
}
