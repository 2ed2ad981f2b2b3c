import { createHash } from "node:crypto"
import type { Bytes } from "../../domain/bytes.ts"

/** SHA-256 (FIPS 180-4) of the concatenated `parts`. */
export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Bytes => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}
