/** Gateway keys: `sgk_`, 256 random bits and a checksum in base64url, which spares the database mistyped keys. */
import { hash, randomBytes } from "node:crypto"
import { Redacted } from "effect"

const PREFIX = "sgk_"
const KEY_BYTES = 32
const KEY = /^(sgk_[\w-]{43})([\w-]{6})$/
const CHECKSUM_CHARS = 6

const checksumOf = (text: string): string => hash("sha256", `checksum ${text}`, "base64url").slice(0, CHECKSUM_CHARS)

export const hashOfKey = (key: string): string => hash("sha256", key, "base64url")

/** Whether a bearer token is a gateway key, perhaps a mistyped one, rather than a JWT. */
export const isGatewayKey = (token: string): boolean => token.startsWith(PREFIX)

export const hasChecksum = (token: string): boolean => {
  const [, body, checksum] = KEY.exec(token) ?? []
  return body !== undefined && checksumOf(body) === checksum
}

export const makeKeySecret = (): { readonly key: Redacted.Redacted; readonly hash: string } => {
  const body = PREFIX + randomBytes(KEY_BYTES).toString("base64url")
  const key = body + checksumOf(body)
  return { key: Redacted.make(key), hash: hashOfKey(key) }
}
