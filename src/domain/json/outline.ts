/**
 * Where the members of a JSON object stand, and those of the object in one of them: noted while the text is passed over for
 * another reason, so that it need not be read again.
 */
import type { Bytes } from "../bytes/bytes.ts"
import type { PlaceWatch } from "./iJson.ts"
import { skipSpace } from "./jsonTokens.ts"
import { RawObject, type Span } from "./rawObject.ts"

/** On which level the members of the text's own object are, and those of the object in it. */
const OUTER = 1
const INNER = 2

export class Outline implements PlaceWatch {
  private readonly holder: string
  private readonly outer = new Map<string, Span>()
  private readonly inner = new Map<string, Span>()
  /** The member of each level that is passed over: its name, and where its value begins. */
  private name: string | undefined
  private from = 0
  private innerName: string | undefined
  private innerFrom = 0

  /** @param holder the name of the member that the inner object is in */
  constructor(holder: string) {
    this.holder = holder
  }

  /** Notes that the value of a member begins at `at`. */
  begun(level: number, name: string, at: number): void {
    if (level === OUTER) {
      this.name = name
      this.from = at
    } else if (level === INNER && this.name === this.holder) {
      this.innerName = name
      this.innerFrom = at
    }
  }

  /** Notes that a value on this level ends before `end`. */
  ended(level: number, end: number): void {
    if (level === OUTER) {
      if (this.name !== undefined) this.outer.set(this.name, [this.from, end])
      this.name = undefined
    } else if (level === INNER) {
      if (this.innerName !== undefined) this.inner.set(this.innerName, [this.innerFrom, end])
      this.innerName = undefined
    }
  }

  /** Whether the text's own value in `bytes` is an object. */
  static isObject(bytes: Uint8Array): boolean {
    return bytes[skipSpace(bytes, 0)] === OPEN_OBJECT
  }

  /** The members of the text's own object, if it is one. To be called once `bytes`, which were passed over, proved to be JSON. */
  object(bytes: Bytes): RawObject {
    return new RawObject(bytes, this.outer)
  }

  /** The object in the holder, if there is one. To be called as the other. */
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
