/** SHA-256 (FIPS 180-4) and HMAC-SHA256 (RFC 2104). */
import { createHmac, hash } from "node:crypto"
import { type Bytes, concat } from "../../domain/bytes/bytes.ts"

/** SHA-256 of the parts, with one character per byte: hashing at once into a string is several times as fast. */
export const sha256Key = (...parts: ReadonlyArray<Uint8Array>): string => {
  const [first] = parts
  return hash("sha256", first !== undefined && parts.length === 1 ? first : concat(...parts), "latin1")
}

export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Bytes =>
  new Uint8Array(Buffer.from(sha256Key(...parts), "latin1"))

/** Writes the MAC of the concatenated `parts` into `mac`, which may be `key`, and leaves no other copy of it. */
export const hmacSha256 = (mac: Bytes, key: Uint8Array, ...parts: ReadonlyArray<Uint8Array>): void => {
  const hmac = createHmac("sha256", key)
  for (const part of parts) hmac.update(part)
  const digest = hmac.digest()
  mac.set(digest)
  digest.fill(0)
}
