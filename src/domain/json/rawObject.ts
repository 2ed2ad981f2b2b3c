/**
 * A JSON object as its sender wrote it: with the order of its members, the spelling of its numbers and escapes, and
 * members that nobody here knows. What a provider is to have as it was sent is changed in the bytes, and nowhere else.
 */
import { type Bytes, concat, fromUtf8, utf8 } from "../bytes/bytes.ts"
import { type JsonObject, parseJson } from "./json.ts"
import { releaseBytes } from "../bytes/releaseBytes.ts"
import { skipSpace } from "./jsonTokens.ts"

/** From the first byte to the one behind the last. */
export type Span = readonly [from: number, to: number]

const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

export class RawObject {
  /** The UTF-8 of it. */
  readonly bytes: Bytes
  private readonly spans: ReadonlyMap<string, Span>
  /** What was made last with other values. */
  private changed: Bytes | undefined

  /** `spans` are those of the values in `bytes`, by the names of their members. */
  constructor(bytes: Bytes, spans: ReadonlyMap<string, Span>) {
    this.bytes = bytes
    this.spans = spans
  }

  /** An object of this product's own. */
  static of(members: JsonObject): RawObject {
    const spans = new Map<string, Span>()
    let text = "{"
    let length = 1
    for (const [name, value] of Object.entries(members)) {
      const before = `${spans.size === 0 ? "" : ","}${JSON.stringify(name)}:`
      const json = JSON.stringify(value)
      const from = length + utf8(before).length
      length = from + utf8(json).length
      spans.set(name, [from, length])
      text += before + json
    }
    return new RawObject(utf8(`${text}}`), spans)
  }

  has(name: string): boolean {
    return this.spans.has(name)
  }

  /** The value of a member; `undefined` if there is none of this name. */
  value(name: string): unknown {
    const span = this.spans.get(name)
    return span === undefined ? undefined : parseJson(fromUtf8(this.bytes.subarray(...span)))
  }

  /** Whether the value of a member is an array with something in it. */
  isFilledArray(name: string): boolean {
    const { bytes } = this
    const [from] = this.spans.get(name) ?? [0]
    return bytes[from] === OPEN_ARRAY && bytes[skipSpace(bytes, from + 1)] !== CLOSE_ARRAY
  }

  /** The whole object. */
  get text(): string {
    return fromUtf8(this.bytes)
  }

  /**
   * The UTF-8 with other values, given as JSON texts. Members that it does not have come first. What was made so before is
   * overwritten.
   */
  with(values: Readonly<Record<string, string>>): Bytes {
    const changes: Array<readonly [Span, string]> = []
    const added: Array<string> = []
    for (const [name, value] of Object.entries(values)) {
      const span = this.spans.get(name)
      if (span === undefined) added.push(`${JSON.stringify(name)}:${value}`)
      else changes.push([span, value])
    }
    if (added.length > 0) changes.push([[1, 1], added.join(",") + (this.spans.size === 0 ? "" : ",")])
    if (changes.length === 0) return this.bytes
    const pieces: Array<Uint8Array> = []
    let done = 0
    for (const [[from, to], text] of changes.sort(([[a]], [[b]]) => a - b)) {
      pieces.push(this.bytes.subarray(done, from), utf8(text))
      done = to
    }
    this.forgetChanged()
    this.changed = concat(...pieces, this.bytes.subarray(done))
    return this.changed
  }

  /** Overwrites it with zeros, unless its memory was given back, and what was made of it last. */
  overwrite(): void {
    if (this.bytes.length > 0) this.bytes.fill(0)
    this.forgetChanged()
  }

  private forgetChanged(): void {
    if (this.changed !== undefined) releaseBytes(this.changed.fill(0))
    this.changed = undefined
  }
}
