/** A JSON object as its sender's bytes, with order and spelling; changes replace single values in them. */
import { type Bytes, concat, fromUtf8, utf8 } from "../bytes/bytes.ts"
import { type JsonObject, parseJson } from "./json.ts"
import { releaseBytes } from "../bytes/releaseBytes.ts"
import { skipSpace } from "./jsonTokens.ts"

/** First byte, and the byte after the last. */
export type Span = readonly [from: number, to: number]

const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
const QUOTE = 0x22
const SPACE = 0x20

export class RawObject {
  /** The object as UTF-8. */
  readonly bytes: Bytes
  private spans: ReadonlyMap<string, Span>
  /** The last result with other values. */
  private changed: Bytes | undefined

  /** `spans` are those of the values in `bytes`, by the names of their members. */
  constructor(bytes: Bytes, spans: ReadonlyMap<string, Span>) {
    this.bytes = bytes
    this.spans = spans
  }

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

  /** Bytes of a member's value; 0 if there is none. */
  lengthOf(name: string): number {
    const [from, to] = this.spans.get(name) ?? [0, 0]
    return to - from
  }

  /** The value of a member; `undefined` if there is none. */
  value(name: string): unknown {
    const span = this.spans.get(name)
    return span === undefined ? undefined : parseJson(fromUtf8(this.bytes.subarray(...span)))
  }

  /** Whether the value of a member is a non-empty array. */
  isFilledArray(name: string): boolean {
    const { bytes } = this
    const [from] = this.spans.get(name) ?? [0]
    return bytes[from] === OPEN_ARRAY && bytes[skipSpace(bytes, from + 1)] !== CLOSE_ARRAY
  }

  get text(): string {
    return fromUtf8(this.bytes)
  }

  /**
   * The UTF-8 with other values as JSON texts, new members first, without the member `omitted`, and with one member under
   * another name. Overwrites the previous result with zeros.
   */
  with(
    values: Readonly<Record<string, string>>,
    omitted?: string,
    renamed?: readonly [from: string, to: string],
  ): Bytes {
    const place = omitted === undefined ? undefined : this.placeOf(omitted)
    const kept = this.spans.size - (place === undefined ? 0 : 1)
    const changes: Array<readonly [Span, string]> = []
    const added: Array<string> = []
    for (const [name, value] of Object.entries(values)) {
      const span = this.spans.get(name)
      if (span === undefined) added.push(`${JSON.stringify(name)}:${value}`)
      else changes.push([span, value])
    }
    if (added.length > 0) changes.push([[1, 1], added.join(",") + (kept === 0 ? "" : ",")])
    if (place !== undefined) changes.push([place, ""])
    const name = renamed === undefined ? undefined : this.nameOf(renamed[0])
    if (renamed !== undefined && name !== undefined) changes.push([name, JSON.stringify(renamed[1])])
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

  /**
   * Writes spaces over a member or, with a `text`, that JSON over its value, which must not be shorter. It does so in place,
   * because a copy would double the memory of a long request.
   */
  blank(name: string, text = ""): void {
    const span = text === "" ? this.placeOf(name) : this.spans.get(name)
    if (span === undefined) return
    const [from, to] = span
    const written = utf8(text)
    this.bytes.fill(SPACE, from, to).set(written, from)
    const rest = [...this.spans].filter(([other]) => other !== name)
    this.spans = new Map(text === "" ? rest : [...rest, [name, [from, from + written.length]]])
  }

  /** The place of a member, with the comma before it, or after it if it is the first. */
  private placeOf(name: string): Span | undefined {
    const span = this.spans.get(name)
    if (span === undefined) return undefined
    const [from, to] = span
    const before = this.endBefore(from)
    if (before > 0) return [before, to]
    const after = skipSpace(this.bytes, to)
    return [1, this.bytes[after] === COMMA ? after + 1 : to]
  }

  /** The place of a member's name, with its quotes. */
  private nameOf(name: string): Span | undefined {
    const [from] = this.spans.get(name) ?? []
    if (from === undefined) return undefined
    return [this.bytes.indexOf(QUOTE, this.endBefore(from)), this.bytes.lastIndexOf(QUOTE, from - 1) + 1]
  }

  /** Where the value before this place ends; 0 if there is none. */
  private endBefore(from: number): number {
    return Math.max(0, ...[...this.spans.values()].map(([, end]) => end).filter((end) => end <= from))
  }

  /** Overwrites the object, unless its memory was released, and the last result with zeros. */
  overwrite(): void {
    if (this.bytes.length > 0) this.bytes.fill(0)
    this.forgetChanged()
  }

  private forgetChanged(): void {
    if (this.changed !== undefined) releaseBytes(this.changed.fill(0))
    this.changed = undefined
  }
}
