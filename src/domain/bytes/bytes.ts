/**
 * Byte layouts and encodings of the sealed protocol, for the server, the browser client and the offline verifier.
 */

/** Bytes backed by an `ArrayBuffer`, as WebCrypto requires. */
export type Bytes = Uint8Array<ArrayBuffer>

const encoder = new TextEncoder()
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true })

/** UTF-8 bytes of `text`. */
export const utf8 = (text: string): Bytes => encoder.encode(text)

/** Text of UTF-8 `bytes`; throws a `TypeError` on malformed input instead of replacing it. */
export const fromUtf8 = (bytes: Uint8Array): string => decoder.decode(bytes)

/** Joins `parts` in order into one new array. */
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

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
const VALUES = new Uint8Array(128).fill(0xff)
for (let i = 0; i < ALPHABET.length; i++) VALUES[ALPHABET.charCodeAt(i)] = i

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
  let text = ""
  let i = 0
  for (; i + 2 < bytes.length; i += 3) {
    const group = (at(bytes, i) << 16) | (at(bytes, i + 1) << 8) | at(bytes, i + 2)
    text +=
      ALPHABET.charAt(group >> 18) +
      ALPHABET.charAt((group >> 12) & 63) +
      ALPHABET.charAt((group >> 6) & 63) +
      ALPHABET.charAt(group & 63)
  }
  const rest = bytes.length - i
  if (rest === 1) {
    const group = at(bytes, i)
    text += ALPHABET.charAt(group >> 2) + ALPHABET.charAt((group & 3) << 4)
  } else if (rest === 2) {
    const group = (at(bytes, i) << 8) | at(bytes, i + 1)
    text += ALPHABET.charAt(group >> 10) + ALPHABET.charAt((group >> 4) & 63) + ALPHABET.charAt((group & 15) << 2)
  }
  return text
}

/**
 * Decodes strict base64url (RFC 4648 §5): `undefined` for padding, white space, other characters, impossible lengths and
 * non-zero trailing bits, so every byte string has exactly one accepted text.
 */
export const decodeBase64Url = (text: string): Bytes | undefined => {
  const rest = text.length & 3
  if (rest === 1) return undefined
  if (rest !== 0 && (value(text, text.length - 1) & (rest === 2 ? 15 : 3)) !== 0) return undefined
  if (nativeDecode !== undefined) return decodeNatively(nativeDecode, text)
  if (!/^[A-Za-z0-9_-]*$/.test(text)) return undefined
  const bytes = new Uint8Array((text.length * 3) >> 2)
  let offset = 0
  for (let i = 0; i < text.length; i += 4) {
    const left = text.length - i
    const group =
      (value(text, i) << 18) |
      (value(text, i + 1) << 12) |
      (left > 2 ? value(text, i + 2) << 6 : 0) |
      (left > 3 ? value(text, i + 3) : 0)
    bytes[offset++] = group >> 16
    if (left > 2) bytes[offset++] = group >> 8
    if (left > 3) bytes[offset++] = group
  }
  return bytes
}

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

const at = (bytes: Uint8Array, index: number): number => bytes[index] ?? 0
const value = (text: string, index: number): number => VALUES[text.charCodeAt(index)] ?? 0xff
