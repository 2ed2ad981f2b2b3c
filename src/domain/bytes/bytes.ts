/** Byte layouts and encodings of the sealed protocol, for server, browser client and offline verifier. */

/** Bytes backed by an `ArrayBuffer`, as WebCrypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

export const utf8 = (text: string): Bytes => encoder.encode(text)

/** Text of UTF-8 `bytes`; throws a `TypeError` on malformed input instead of replacing it. */
export const fromUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes)

export const concat = (...parts: ReadonlyArray<Uint8Array>): Bytes => joined(parts)

/** {@link concat} for any number of parts; too many arguments would overflow the stack. */
export const joined = (parts: ReadonlyArray<Uint8Array>): Bytes => {
  let length = 0
  for (const part of parts) length += part.length
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const part of parts) {
    bytes.set(part, offset)
    offset += part.length
  }
  return bytes
}

/** Copies `piece` to `offset` of `bytes`, or of a copy at least twice as long if it does not fit. */
export const withPiece = (bytes: Bytes, offset: number, piece: Uint8Array): Bytes => {
  const end = offset + piece.length
  const roomy = end <= bytes.length ? bytes : new Uint8Array(Math.max(end, 2 * bytes.length))
  if (roomy !== bytes) roomy.set(bytes.subarray(0, offset))
  roomy.set(piece, offset)
  return roomy
}

/** `value` as four big-endian bytes. */
export const u32 = (value: number): Bytes => {
  // Without a DataView, which would make the engine allocate the small array's buffer.
  const bytes = new Uint8Array(4)
  setU32(bytes, 0, value)
  return bytes
}

/** `value` (a non-negative safe integer) as eight big-endian bytes. */
export const u64 = (value: number): Bytes => {
  const bytes = new Uint8Array(8)
  setU64(bytes, 0, value)
  return bytes
}

/** Writes `value` (a non-negative safe integer) as eight big-endian bytes. */
export const setU64 = (bytes: Uint8Array, offset: number, value: number): void => {
  setU32(bytes, offset, Math.floor(value / 2 ** 32))
  setU32(bytes, offset + 4, value)
}

/** Writes the lowest 32 bits of `value` as four big-endian bytes. */
export const setU32 = (bytes: Uint8Array, offset: number, value: number): void => {
  bytes[offset] = value >>> 24
  bytes[offset + 1] = value >>> 16
  bytes[offset + 2] = value >>> 8
  bytes[offset + 3] = value
}

/** Domain separation: UTF-8 `"sealgate/v2 " + name` followed by one zero byte. */
export const label = (name: string): Bytes => utf8(`sealgate/v2 ${name}\0`)

/** Whether two byte strings are equal. For public values only: it stops at the first difference. */
export const equalBytes = (a: Uint8Array, b: Uint8Array): boolean => {
  if (a.length !== b.length) return false
  for (let i = 0; i < a.length; i++) if (a[i] !== b[i]) return false
  return true
}

/** The platform's base64 codec, if it has one (ES2026): several times faster on large ciphertexts. */
interface NativeCodec {
  readonly fromBase64?: (
    text: string,
    options: { readonly alphabet: "base64url"; readonly lastChunkHandling: "loose" },
  ) => Bytes
}
interface NativeEncoder {
  readonly toBase64?: (options: { readonly alphabet: "base64url"; readonly omitPadding: true }) => string
}
// The cast only adds members of newer platforms; both are checked before use.
const nativeDecode = (Uint8Array as NativeCodec).fromBase64?.bind(Uint8Array)

/** base64url without padding (RFC 4648 §5). */
export const encodeBase64Url = (bytes: Uint8Array): string => {
  const native = (bytes as NativeEncoder).toBase64
  if (native !== undefined) return native.call(bytes, { alphabet: "base64url", omitPadding: true })
  let binary = ""
  for (const byte of bytes) binary += String.fromCharCode(byte)
  return btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")
}

/**
 * Decodes strict base64url (RFC 4648 §5): `undefined` for padding, white space, other characters, impossible lengths and
 * non-zero trailing bits, so every byte string has exactly one accepted text.
 */
export const decodeBase64Url = (text: string): Bytes | undefined => {
  if (!ENDS_IN_ZEROS[text.length & 3]?.test(text)) return undefined
  if (nativeDecode !== undefined) return decodeNatively(nativeDecode, text)
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"))
  const bytes = new Uint8Array(binary.length)
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i)
  return bytes
}

/** Valid ends by the length modulo 4: the bits that belong to no byte are zero, and no length leaves 1. */
const ENDS_IN_ZEROS = [/$/, undefined, /[AQgw]$/, /[AEIMQUYcgkosw048]$/]

/** The platform's codec also accepts white space and padding; then the result is too short for the text. */
const decodeNatively = (decode: NonNullable<NativeCodec["fromBase64"]>, text: string): Bytes | undefined => {
  try {
    const bytes = decode(text, { alphabet: "base64url", lastChunkHandling: "loose" })
    return bytes.length === (text.length * 3) >> 2 ? bytes : undefined
  } catch {
    // The codec throws only if the text is not base64url.
    return undefined
  }
}
