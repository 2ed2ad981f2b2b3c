/**
 * A JSON object as its sender wrote it: with the order of its members, the spelling of its numbers and escapes, and
 * members that nobody here knows. What a provider is to have as it was sent is changed in the text, and nowhere else.
 */
import { type JsonObject, parseJson } from "./json.ts"

/** From the first character to the one behind the last. */
export type Span = readonly [from: number, to: number]

export class RawObject {
  readonly text: string
  private readonly spans: ReadonlyMap<string, Span>

  /** `spans` are those of the values in `text`, by the names of their members. */
  constructor(text: string, spans: ReadonlyMap<string, Span>) {
    this.text = text
    this.spans = spans
  }

  /** An object of this product's own. */
  static of(members: JsonObject): RawObject {
    const spans = new Map<string, Span>()
    let text = "{"
    for (const [name, value] of Object.entries(members)) {
      text += `${spans.size === 0 ? "" : ","}${JSON.stringify(name)}:`
      const from = text.length
      text += JSON.stringify(value)
      spans.set(name, [from, text.length])
    }
    return new RawObject(`${text}}`, spans)
  }

  /** The value of a member; `undefined` if there is none of this name. */
  value(name: string): unknown {
    const span = this.spans.get(name)
    return span === undefined ? undefined : parseJson(this.text.slice(...span))
  }

  /** The text with other values, given as JSON texts. Members that it does not have come first. */
  with(values: Readonly<Record<string, string>>): string {
    const added: Array<string> = []
    const changed: Array<readonly [Span, string]> = []
    for (const [name, value] of Object.entries(values)) {
      const span = this.spans.get(name)
      if (span === undefined) added.push(`${JSON.stringify(name)}:${value}`)
      else changed.push([span, value])
    }
    const pieces: Array<string> = []
    let done = 0
    for (const [[from, to], value] of changed.sort(([[a]], [[b]]) => a - b)) {
      pieces.push(this.text.slice(done, from), value)
      done = to
    }
    const text = pieces.join("") + this.text.slice(done)
    if (added.length === 0) return text
    return `{${added.join(",")}${this.spans.size === 0 ? "" : ","}${text.slice(1)}`
  }
}
