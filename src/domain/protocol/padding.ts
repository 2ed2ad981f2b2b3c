/**
 * Padded blocks (sealed protocol §4.4): payloads are sealed in blocks whose size reveals little about them. Sizes follow Padmé (Nikitin et al., "Reducing Metadata Leakage from Encrypted Files and
 * Communication with PURBs", PETS 2019): at most 12 % overhead, O(log log n) bits leaked.
 */
import { type Bytes, setU32 } from "../bytes/bytes.ts"

/** Smallest block, in bytes, except where {@link UNPACED_FLOOR} applies. */
export const FLOOR = 1024
/** Smallest block, in bytes, of a frame of an unpaced stream. */
export const UNPACED_FLOOR = 512

const HEADER = 4

/** End records are padded to multiples of this many bytes, which hides their counts and how the response ended. */
const END_RECORD_BLOCK = 4096

/** The padded length of an end record, in bytes (sealed protocol §5): 4092, 8188, … */
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
 * The payload inside `block`, as a view, or `undefined` if {@link pad} cannot have produced the block with this floor: its
 * length exceeds the block, its size is not a padded one, or a pad byte is not zero.
 */
export const unpad = (block: Bytes, floor: number): Bytes | undefined => {
  if (block.length < HEADER) return undefined
  const length = new DataView(block.buffer, block.byteOffset).getUint32(0)
  // Also rejects a length beyond the block.
  if (block.length !== blockSize(length, floor)) return undefined
  let padding = 0
  for (let i = HEADER + length; i < block.length; i++) padding |= block[i] ?? 0
  return padding === 0 ? block.subarray(HEADER, HEADER + length) : undefined
}
