/** The names of members in a JSON text, which mostly has the same few again and again. */
import { fromUtf8 } from "../bytes/bytes.ts"

const BACKSLASH = 0x5c

/** The longest name that is put together from its bytes, which takes less time than to decode it. */
const SHORT = 64

/** How many names are known again: a power of two. */
const KNOWN = 64

export class MemberNames {
  private readonly bytes: Uint8Array
  /** Names that came before, and where: two of which neither length nor ends differ have one place, which the last one gets. */
  private readonly known: Array<readonly [name: string, from: number, to: number] | undefined> = []

  /** @param bytes UTF-8 */
  constructor(bytes: Uint8Array) {
    this.bytes = bytes
  }

  /** The name between two quotes, with its escapes resolved: names are compared in this form (RFC 7493 §2.3). */
  read(from: number, to: number): string {
    const { bytes, known } = this
    const at = ((bytes[from] ?? 0) + 7 * (bytes[to - 1] ?? 0) + 31 * (to - from)) & (KNOWN - 1)
    const before = known[at]
    if (before !== undefined && this.isSame(before[1], before[2], from, to)) return before[0]
    const name = this.decode(from, to)
    known[at] = [name, from, to]
    return name
  }

  private isSame(from: number, to: number, otherFrom: number, otherTo: number): boolean {
    const { bytes } = this
    if (to - from !== otherTo - otherFrom) return false
    for (let i = from, other = otherFrom; i < to; i++, other++) if (bytes[i] !== bytes[other]) return false
    return true
  }

  private decode(from: number, to: number): string {
    const { bytes } = this
    let name = ""
    if (to - from <= SHORT) {
      for (let i = from; i < to; i++) {
        const byte = bytes[i] ?? 0
        if (byte === BACKSLASH || byte > 0x7f) break
        name += String.fromCharCode(byte)
      }
      if (name.length === to - from) return name
    }
    const text = bytes.subarray(from, to)
    if (!text.includes(BACKSLASH)) return fromUtf8(text)
    // Between quotes it is a string of JSON, as was found before.
    return JSON.parse(fromUtf8(bytes.subarray(from - 1, to + 1))) as string
  }
}
