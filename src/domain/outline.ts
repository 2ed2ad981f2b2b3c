/**
 * Where the object in one member of a JSON text stands, and where that object's own members do: noted while the text is
 * passed over for another reason, so that it need not be read again.
 */
import { RawObject, type Span } from "./rawObject.ts"

/** On which level the members of the text's own object are, and those of the object in it. */
const OUTER = 1
const INNER = 2

export class Outline {
  private readonly holder: string
  /** Behind the name of the member that is passed over, if it is the holder. */
  private holderAt: number | undefined
  private held: Span | undefined
  /** The member of the object that is passed over, and where its name ends. */
  private member: readonly [name: string, end: number] | undefined
  private readonly members: Array<readonly [name: string, span: Span]> = []

  /** @param holder the name of the member that the object is in */
  constructor(holder: string) {
    this.holder = holder
  }

  /** Notes the name of a member: its level, and where it ends. */
  named(level: number, name: string, end: number): void {
    if (level === OUTER) this.holderAt = name === this.holder ? end : undefined
    else if (level === INNER && this.holderAt !== undefined) this.member = [name, end]
  }

  /** Notes that a value on this level ends before `end`. */
  ended(level: number, end: number): void {
    if (this.holderAt === undefined || level > INNER) return
    if (level === INNER) {
      if (this.member !== undefined) this.members.push([this.member[0], [this.member[1], end]])
      this.member = undefined
    } else {
      this.held = [this.holderAt, end]
      this.holderAt = undefined
    }
  }

  /** The object, if the member is one. To be called once `text`, which was passed over, has proved to be JSON. */
  objectIn(text: string): RawObject | undefined {
    if (this.held === undefined) return undefined
    const [from, to] = valueIn(text, this.held)
    if (text[from] !== "{") return undefined
    const spans = this.members.map(([name, span]) => {
      const [start, end] = valueIn(text, span)
      return [name, [start - from, end - from]] as const
    })
    return new RawObject(text.slice(from, to), new Map(spans))
  }
}

const SPACE = /[\t\n\r ]/

/** The value itself, of what stands between its name and what follows it. */
const valueIn = (text: string, [from, to]: Span): Span => {
  let first = text.indexOf(":", from) + 1
  let last = to
  while (SPACE.test(text.charAt(first))) first++
  while (SPACE.test(text.charAt(last - 1))) last--
  return [first, last]
}
