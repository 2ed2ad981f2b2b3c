/** Binds key, configuration and nonces of waiting clients to one report: 32 bytes that the hardware signs. */
import { createHash } from "node:crypto"
import { type Bytes, equalBytes } from "../domain/bytes/bytes.ts"
import { bindingInput, leafInput, nodeInput, reportData, siblingSides } from "../domain/protocol/evidence.ts"
import { HASH_BYTES } from "../domain/protocol/transcript.ts"

export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Bytes => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}

/** Longest path: no report covers 2^32 nonces. */
export const MAX_PATH = 32

/** Leads from one nonce to the root. `hashes` go from the leaf upwards. */
export interface NoncePath {
  readonly index: number
  readonly size: number
  readonly hashes: ReadonlyArray<Bytes>
}

/** The root to which `path` leads from `nonce` (RFC 6962 §2.1.1); `undefined` if the path does not fit its index and size. */
export const rootOf = (nonce: Uint8Array, { index, size, hashes }: NoncePath): Bytes | undefined => {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return undefined
  const sides = siblingSides(index, size)
  if (hashes.length !== sides.length || hashes.some(({ length }) => length !== HASH_BYTES)) return undefined
  return hashes.reduce(
    (hash, sibling, i) => sha256(sides[i] === "left" ? nodeInput(sibling, hash) : nodeInput(hash, sibling)),
    sha256(leafInput(nonce)),
  )
}

/**
 * The 32 bytes that evidence carries: SHA-256(label ‖ kid ‖ SHA-256(configuration) ‖ root). `kid` and `root` have 32 bytes.
 * All parts have fixed lengths, so one hash over them is unambiguous.
 */
export const bindingOf = (parts: {
  readonly kid: Uint8Array
  readonly configuration: Uint8Array
  readonly root: Uint8Array
}): Bytes => {
  if (parts.kid.length !== HASH_BYTES || parts.root.length !== HASH_BYTES) {
    throw new RangeError("kid and root must have 32 bytes.")
  }
  return sha256(bindingInput(parts.kid, sha256(parts.configuration), parts.root))
}

/** Whether 64 bytes of `report_data` are the binding and zeros. */
export const isReportData = (data: Uint8Array, binding: Uint8Array): boolean => equalBytes(data, reportData(binding))
