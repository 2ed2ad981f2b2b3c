/** Positions of the members of a JSON object and of one within it, recorded while the text is checked. */
import type { Bytes } from "../bytes/bytes.ts"
import type { PlaceWatch } from "./iJson.ts"
import { skipSpace } from "./jsonTokens.ts"
import { RawObject, type Span } from "./rawObject.ts"

/** Levels of the members of the outer and of the inner object. */
const OUTER = 1
const INNER = 2

export class Outline implements PlaceWatch {
  private readonly holder: string
  private readonly outer = new Map<string, Span>()
  private readonly inner = new Map<string, Span>()
  /** The current member of each level: its name, and where its value begins. */
  private name: string | undefined
  private from = 0
  private innerName: string | undefined
  private innerFrom = 0

  /** @param holder the member whose value is the inner object */
  constructor(holder: string) {
    this.holder = holder
  }

  /** Records that the value of a member begins at `at`. */
  begun(level: number, name: string, at: number): void {
    if (level === OUTER) {
      this.name = name
      this.from = at
    } else if (level === INNER && this.name === this.holder) {
      this.innerName = name
      this.innerFrom = at
    }
  }

  ended(level: number, end: number): void {
    if (level === OUTER) {
      if (this.name !== undefined) this.outer.set(this.name, [this.from, end])
      this.name = undefined
    } else if (level === INNER) {
      if (this.innerName !== undefined) this.inner.set(this.innerName, [this.innerFrom, end])
      this.innerName = undefined
    }
  }

  static isObject(bytes: Uint8Array): boolean {
    return bytes[skipSpace(bytes, 0)] === OPEN_OBJECT
  }

  /** The outer object. Call it only after the check has found `bytes` to be JSON. */
  object(bytes: Bytes): RawObject {
    return new RawObject(bytes, this.outer)
  }

  /** The inner object, if there is one. Call it only after the check, too. */
  objectIn(bytes: Bytes): RawObject | undefined {
    const span = this.outer.get(this.holder)
    if (span === undefined || bytes[span[0]] !== OPEN_OBJECT) return undefined
    const [start, end] = span
    const spans = new Map<string, Span>()
    for (const [name, [from, to]] of this.inner) spans.set(name, [from - start, to - start])
    return new RawObject(bytes.subarray(start, end), spans)
  }
}

const OPEN_OBJECT = 0x7b
