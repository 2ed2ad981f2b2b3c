/** Binds key, configuration and nonces of waiting clients to one report: 32 bytes that the hardware signs. */
import { createHash } from "node:crypto"
import { type Bytes, concat, equalBytes, utf8 } from "../domain/bytes/bytes.ts"

const LABEL = utf8("sealgate evidence 1")

export const sha256 = (...parts: ReadonlyArray<Uint8Array>): Bytes => {
  const hash = createHash("sha256")
  for (const part of parts) hash.update(part)
  return new Uint8Array(hash.digest())
}

const LEAF = Uint8Array.of(0)
const NODE = Uint8Array.of(1)

/** Size of a nonce, of a `kid`, and of a hash, in bytes. */
export const HASH_BYTES = 32

/** Longest path: no report covers 2^32 nonces. */
export const MAX_PATH = 32

/** Leads from one nonce to the root. `hashes` go from the leaf upwards. */
export interface NoncePath {
  readonly index: number
  readonly size: number
  readonly hashes: ReadonlyArray<Bytes>
}

/** The largest power of two below `size`, which is at least 2. */
const splitOf = (size: number): number => 2 ** Math.floor(Math.log2(size - 1))

/** Root of the Merkle tree over at least one nonce (RFC 6962 §2.1, SHA-256). */
export const treeRoot = (nonces: ReadonlyArray<Bytes>): Bytes => {
  const [first] = nonces
  if (first === undefined) throw new RangeError("A tree needs at least one nonce.")
  if (nonces.length === 1) return sha256(LEAF, first)
  const split = splitOf(nonces.length)
  return sha256(NODE, treeRoot(nonces.slice(0, split)), treeRoot(nonces.slice(split)))
}

const auditPath = (index: number, nonces: ReadonlyArray<Bytes>): ReadonlyArray<Bytes> => {
  if (nonces.length === 1) return []
  const split = splitOf(nonces.length)
  const [left, right] = [nonces.slice(0, split), nonces.slice(split)]
  return index < split
    ? [...auditPath(index, left), treeRoot(right)]
    : [...auditPath(index - split, right), treeRoot(left)]
}

/** The path of the nonce at `index` (RFC 6962 §2.1.1). Throws a `RangeError` if there is none. */
export const pathFor = (nonces: ReadonlyArray<Bytes>, index: number): NoncePath => {
  if (nonces[index] === undefined) throw new RangeError("The tree has no nonce at this index.")
  return { index, size: nonces.length, hashes: auditPath(index, nonces) }
}

/** The root to which `path` leads from `nonce`; `undefined` if the path does not fit its index and size. */
export const rootOf = (nonce: Uint8Array, { index, size, hashes }: NoncePath): Bytes | undefined => {
  if (!Number.isSafeInteger(index) || !Number.isSafeInteger(size) || index < 0 || index >= size) return undefined
  const climb = (at: number, of: number, depth: number): Bytes | undefined => {
    if (of === 1) return depth === 0 ? sha256(LEAF, nonce) : undefined
    const sibling = hashes[depth - 1]
    if (sibling?.length !== HASH_BYTES) return undefined
    const split = splitOf(of)
    const own = at < split ? climb(at, split, depth - 1) : climb(at - split, of - split, depth - 1)
    if (own === undefined) return undefined
    return at < split ? sha256(NODE, own, sibling) : sha256(NODE, sibling, own)
  }
  return hashes.length > MAX_PATH ? undefined : climb(index, size, hashes.length)
}

/**
 * The 32 bytes that evidence carries: SHA-256(label ‖ kid ‖ SHA-256(configuration) ‖ root). All parts have fixed lengths, so
 * one hash over them is unambiguous. `kid` and `root` have 32 bytes.
 */
export const bindingOf = (parts: {
  readonly kid: Uint8Array
  readonly configuration: Uint8Array
  readonly root: Uint8Array
}): Bytes => {
  if (parts.kid.length !== HASH_BYTES || parts.root.length !== HASH_BYTES) {
    throw new RangeError("kid and root must have 32 bytes.")
  }
  return sha256(LABEL, parts.kid, sha256(parts.configuration), parts.root)
}

/** `report_data` of TDX and SEV-SNP: the binding and 32 zero bytes. */
export const reportDataOf = (binding: Uint8Array): Bytes => concat(binding, new Uint8Array(HASH_BYTES))

/** Whether 64 bytes of `report_data` are the binding and zeros. */
export const isReportData = (data: Uint8Array, binding: Uint8Array): boolean => equalBytes(data, reportDataOf(binding))
