/** Content codings of bodies (RFC 9110 §8.4.1) and their decoders. */
import type { Duplex } from "node:stream"
import { constants, createBrotliDecompress, createGunzip, createInflate, createZstdDecompress } from "node:zlib"

/** Releases decoded bytes as soon as possible. The content shows whether the body is complete. */
const PROMPTLY = { flush: constants.Z_SYNC_FLUSH, finishFlush: constants.Z_SYNC_FLUSH }

const BROTLI_PROMPTLY = { flush: constants.BROTLI_OPERATION_FLUSH, finishFlush: constants.BROTLI_OPERATION_FLUSH }

/** Windows of at most 8 MiB, the largest that a sender may use (RFC 9659 §3), bound what decoding holds. */
const ZSTD = { finishFlush: constants.ZSTD_e_flush, params: { [constants.ZSTD_d_windowLogMax]: 23 } }

/** Decoders by the names of their codings. */
export const DECODERS: ReadonlyMap<string, () => Duplex> = new Map<string, () => Duplex>([
  ["gzip", () => createGunzip(PROMPTLY)],
  ["x-gzip", () => createGunzip(PROMPTLY)],
  ["deflate", () => createInflate(PROMPTLY)],
  ["br", () => createBrotliDecompress(BROTLI_PROMPTLY)],
  ["zstd", () => createZstdDecompress(ZSTD)],
])

/** Returns the codings in `Content-Encoding`, joined with commas; `undefined` if there are none. */
export const codingIn = (contentEncoding = ""): string | undefined => {
  const codings = contentEncoding
    .split(",")
    .map((coding) => coding.trim().toLowerCase())
    .filter((coding) => coding !== "" && coding !== "identity")
  return codings.length === 0 ? undefined : codings.join(", ")
}
