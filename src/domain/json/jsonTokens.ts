/** Finds the ends of JSON tokens (RFC 8259) in bytes, so megabytes need not become a string. Requires valid UTF-8. */

/** Returned instead of a position if there is no valid token. */
const NO_PIECE = -1
/** Returned instead of the end of a string that contains an unpaired surrogate. */
export const HALF_PAIR = -2

const QUOTE = 0x22
const BACKSLASH = 0x5c
const MINUS = 0x2d
const PLUS = 0x2b
const DOT = 0x2e
const ZERO = 0x30
const SMALL_E = 0x65
const CAPITAL_E = 0x45
const SMALL_U = 0x75

const table = (bytes: Iterable<number>): Uint8Array => {
  const found = new Uint8Array(256)
  for (const byte of bytes) found[byte] = 1
  return found
}
const codes = (text: string): ReadonlyArray<number> => Array.from(text, (character) => character.charCodeAt(0))

/** Bytes that end plain text in a string. The missing byte after the last one counts as 0, so every search ends. */
const SPECIAL = table([QUOTE, BACKSLASH, ...Array.from({ length: 0x20 }, (_, code) => code)])
const ESCAPED = table(codes('"\\/bfnrt'))
const WORDS = ["true", "false", "null"].map(codes)

export const skipSpace = (bytes: Uint8Array, at: number): number => {
  let i = at
  for (;;) {
    const byte = bytes[i]
    if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) return i
    i++
  }
}

export class JsonTokens {
  readonly bytes: Uint8Array
  private readonly view: DataView

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    this.view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  }

  /** Position of the closing quote of the string whose text begins at `at`. */
  endOfString(at: number): number {
    const { bytes } = this
    let i = at
    for (;;) {
      i = this.nextSpecial(i)
      const byte = bytes[i]
      if (byte === QUOTE) return i
      if (byte !== BACKSLASH) return NO_PIECE
      if (bytes[i + 1] !== SMALL_U) {
        if (ESCAPED[bytes[i + 1] ?? 0] !== 1) return NO_PIECE
        i += 2
        continue
      }
      const unit = this.unitAt(i)
      if (unit < 0) return NO_PIECE
      i += 6
      if (unit < 0xd800 || unit > 0xdfff) continue
      const other = this.unitAt(i)
      if (unit > 0xdbff || other < 0xdc00 || other > 0xdfff) return HALF_PAIR
      i += 6
    }
  }

  /** Position after the number or literal that begins at `at`. */
  endOfScalar(at: number): number {
    const word = WORDS.find(([first]) => first === this.bytes[at])
    if (word === undefined) return this.endOfNumber(at)
    return word.every((code, index) => this.bytes[at + index] === code) ? at + word.length : NO_PIECE
  }

  private endOfNumber(at: number): number {
    const { bytes } = this
    const first = bytes[at] === MINUS ? at + 1 : at
    let i = bytes[first] === ZERO ? first + 1 : this.endOfDigits(first)
    if (i > 0 && bytes[i] === DOT) i = this.endOfDigits(i + 1)
    if (i > 0 && (bytes[i] === SMALL_E || bytes[i] === CAPITAL_E)) {
      const sign = bytes[i + 1]
      i = this.endOfDigits(sign === PLUS || sign === MINUS ? i + 2 : i + 1)
    }
    return i
  }

  private endOfDigits(at: number): number {
    let i = at
    while (isDigit(this.bytes[i])) i++
    return i === at ? NO_PIECE : i
  }

  /**
   * Position of the first quote, backslash or control character from `at` on, or the end of the text. Tests four bytes at
   * once with "has a byte less than n": `(x - n) & ~x & 0x80` per byte. XOR with 0x02 turns the quote 0x22 into 0x20, so
   * "less than 0x21" finds quotes and control characters. XOR with 0x5c turns a backslash into 0. Borrows can set false
   * bits only after (above) the first true one, so the lowest set bit is right.
   */
  private nextSpecial(at: number): number {
    const { bytes, view } = this
    let i = at
    for (const last = bytes.length - 4; i <= last; i += 4) {
      const four = view.getInt32(i, true)
      const low = four ^ 0x02020202
      const slash = four ^ 0x5c5c5c5c
      const found = (((low - 0x21212121) & ~low) | ((slash - 0x01010101) & ~slash)) & 0x80808080
      if (found !== 0) return i + ((31 - Math.clz32(found & -found)) >> 3)
    }
    while (SPECIAL[bytes[i] ?? 0] === 0) i++
    return i
  }

  /** The UTF-16 code unit of the escape at `at`; negative if there is none. */
  private unitAt(at: number): number {
    const { bytes } = this
    if (bytes[at] !== BACKSLASH || bytes[at + 1] !== SMALL_U) return NO_PIECE
    let unit = 0
    for (let i = at + 2; i < at + 6; i++) {
      const digit = hexDigit(bytes[i])
      if (digit < 0) return NO_PIECE
      unit = unit * 16 + digit
    }
    return unit
  }
}

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= 0x30 && byte <= 0x39

const hexDigit = (byte: number | undefined): number => {
  if (byte === undefined) return NO_PIECE
  if (isDigit(byte)) return byte - 0x30
  // Lower case.
  const small = byte | 0x20
  return small >= 0x61 && small <= 0x66 ? small - 0x61 + 10 : NO_PIECE
}
