import type { Bytes } from "../../domain/bytes/bytes.ts"

/**
 * Memory for a secret, all zero, that stays in one place until it is overwritten. V8 keeps the bytes of a small
 * `new Uint8Array(length)` in its heap, and leaves copies behind when it moves them or lends them to native code.
 */
export const secretBytes = (length: number): Bytes => new Uint8Array(new ArrayBuffer(length))

/** The buffer of `bytes`, or a copy if it holds more. */
export const exactBuffer = (bytes: Buffer<ArrayBuffer>): ArrayBuffer => {
  if (bytes.byteLength === bytes.buffer.byteLength) return bytes.buffer
  const copy = secretBytes(bytes.length)
  copy.set(bytes)
  bytes.fill(0)
  return copy.buffer
}
