/**
 * Padded blocks (sealed protocol §4.4): what is sealed is never the payload itself but a block whose size reveals
 * little about it. Sizes follow Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
 * Communication with PURBs", PETS 2019): at most 12 % overhead, O(log log n) bits leaked.
 */
import { type Bytes, setU32 } from "../bytes/bytes.ts"

/** Smallest block, in bytes, of everything but {@link UNPACED_FLOOR}. */
export const FLOOR = 1024
/** Smallest block, in bytes, of a frame that is sent as soon as there is something for it. */
export const UNPACED_FLOOR = 512

const HEADER = 4

/**
 * The lengths of end records, in bytes, are multiples of this: so neither the counts in them nor the way the response
 * ended shows.
 */
const END_RECORD_BLOCK = 4096

/** The length, in bytes, that an end record of `length` is filled to (sealed protocol §5): 4092, 8188, … */
export const endRecordLength = (length: number): number =>
  Math.ceil((HEADER + length) / END_RECORD_BLOCK) * END_RECORD_BLOCK - HEADER

/** Rounds a length in bytes (at least 2) up to its Padmé size. */
export const padme = (length: number): number => {
  const exponent = 31 - Math.clz32(length)
  const significant = 32 - Math.clz32(exponent)
  const granule = 2 ** (exponent - significant)
  return Math.ceil(length / granule) * granule
}

/** Size in bytes of the block that holds `payloadLength` bytes. */
export const blockSize = (payloadLength: number, floor: number): number =>
  padme(Math.max(HEADER + payloadLength, floor))

/** Builds `u32(length) ‖ payload ‖ zeros`. */
export const pad = (payload: Uint8Array, floor: number): Bytes => {
  const block = new Uint8Array(blockSize(payload.length, floor))
  setU32(block, 0, payload.length)
  block.set(payload, HEADER)
  return block
}

/**
 * The payload inside `block`, as a view on it, or `undefined` when the block is not one that {@link pad} produces
 * with this floor: a length beyond the block, a size that padding does not give, or a non-zero pad byte.
 */
export const unpad = (block: Bytes, floor: number): Bytes | undefined => {
  if (block.length < HEADER) return undefined
  const length = new DataView(block.buffer, block.byteOffset).getUint32(0)
  // This is another size, too, where the length points beyond the block.
  if (block.length !== blockSize(length, floor)) return undefined
  let padding = 0
  for (let i = HEADER + length; i < block.length; i++) padding |= block[i] ?? 0
  return padding === 0 ? block.subarray(HEADER, HEADER + length) : undefined
}
