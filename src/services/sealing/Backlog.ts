/** The part of a stream that has arrived and is not sealed yet, divided into the payloads of frames (sealed protocol §5). */
import { type Bytes, utf8 } from "../../domain/bytes/bytes.ts"
import type { JsonObject } from "../../domain/json/json.ts"
import { type Added, withoutPadding } from "../../domain/chat/mergeChunks.ts"
import { FLOOR } from "../../domain/protocol/padding.ts"
import { iJsonOf } from "../../domain/json/surrogates.ts"
import type { StreamEvent } from "../../domain/upstream/upstream.ts"
import { type StreamRules, streamRulesOf } from "./streamRules.ts"

type Restart = Omit<Extract<StreamEvent, { readonly _tag: "Restarted" }>, "_tag">

interface Waiting {
  readonly chunk: JsonObject
  readonly json: string
  readonly bytes: number
  readonly isCut?: boolean
}

const waitingOf = (chunk: JsonObject, json: string, isCut = false): Waiting => ({
  chunk,
  json,
  bytes: Buffer.byteLength(json),
  isCut,
})

/** Largest payload in the smallest block, in bytes: the length field takes four. */
const ONE_BLOCK = FLOOR - 4
/** Texts of a paced stream are cut to this many bytes of JSON, so that merging them fills blocks. */
const PIECE = 256
/** Largest payload of an unpaced stream, in bytes. */
const MOST = 256 * 1024
/** Waiting bytes at which reading from the provider pauses. */
export const FULL = 1024 * 1024

const EMPTY = '{"deltas":[]}'
/** Payload of every frame without data: only read, because streams share it. */
const EMPTY_PAYLOAD = utf8(EMPTY)

export class Backlog {
  private waiting: Array<Waiting> = []
  private restart: Restart | undefined
  private bytes = 0
  private readonly isPaced: boolean
  private readonly room: number
  private readonly rules: StreamRules<JsonObject>
  private readonly joiner: ReturnType<StreamRules<JsonObject>["joiner"]>

  /**
   * @param api the API as the request names it
   * @param isPaced whether every payload must fit into the smallest block
   */
  constructor(api: unknown, isPaced: boolean) {
    this.isPaced = isPaced
    this.room = isPaced ? ONE_BLOCK : MOST
    this.rules = streamRulesOf(api)
    this.joiner = this.rules.joiner()
  }

  add(chunk: JsonObject): void {
    const bare = withoutPadding(chunk)
    const json = JSON.stringify(bare)
    for (const whole of this.joiner.add(bare, json)) this.push(whole, whole === bare ? json : iJsonOf(whole))
  }

  /** Discards everything so far. Of several restarts the last one counts. */
  startOver(restart: Restart): void {
    this.joiner.clear()
    this.waiting = []
    this.bytes = 0
    this.restart = restart
  }

  /** Releases half of a surrogate pair that was held back, because nothing follows. */
  end(): void {
    for (const chunk of this.joiner.end()) this.push(chunk, iJsonOf(chunk))
  }

  get isEmpty(): boolean {
    return this.waiting.length === 0 && this.restart === undefined
  }

  /** Waiting bytes, before merging. */
  get size(): number {
    return this.bytes
  }

  /** Takes the payload of one frame: the same object each time if nothing waits. */
  take(): Bytes {
    if (this.isEmpty) return EMPTY_PAYLOAD
    const { room } = this
    const head = this.restart === undefined ? "{" : `{"restart":${iJsonOf(this.restart)},`
    const deltas: Array<string> = []
    let used = Buffer.byteLength(head) + EMPTY.length - 1
    let next = 0
    for (let first = this.at(0); first !== undefined; first = this.at(next)) {
      const before = deltas.length === 0 ? 0 : 1
      // A chunk that fits into no block gets a larger block, alone.
      const isAlone = deltas.length === 0 && this.restart === undefined
      if (!isAlone && used + before + first.bytes > room) break
      const { bytes, json, taken } = this.mergeFrom(next, first, room - used - before)
      deltas.push(json)
      used += before + bytes
      next += taken
    }
    for (const { bytes } of this.waiting.splice(0, next)) this.bytes -= bytes
    this.restart = undefined
    return utf8(`${head}"deltas":[${deltas.join(",")}]}`)
  }

  /** Merges `first`, at `index`, with as many following chunks as continue the same text and fit into `room`. */
  private mergeFrom(index: number, first: Waiting, room: number) {
    let { bytes } = first
    let last = first
    let all: Added | undefined
    let taken = 1
    for (let other = this.at(index + 1); other !== undefined; other = this.at(index + taken)) {
      const added = this.rules.added(first.chunk, other.chunk)
      if (added === undefined || (all !== undefined && all.member !== added.member)) break
      const grown = bytes + Buffer.byteLength(JSON.stringify(added.text)) - 2
      if (grown > room) break
      bytes = grown
      last = other
      all = all === undefined ? added : { member: all.member, text: all.text + added.text }
      taken++
    }
    const json = all === undefined ? first.json : iJsonOf(this.rules.grow(first.chunk, last.chunk, all))
    return { bytes, taken, json }
  }

  /** The chunk at `index`. Long ones are cut only now, because the pieces take more memory. */
  private at(index: number): Waiting | undefined {
    const whole = this.waiting[index]
    if (whole === undefined || !this.isPaced || whole.bytes <= PIECE || whole.isCut === true) return whole
    const cut = this.rules.cut(whole.chunk, PIECE)
    const pieces =
      cut.length === 1 ? [{ ...whole, isCut: true }] : cut.map((piece) => waitingOf(piece, iJsonOf(piece), true))
    this.waiting = [...this.waiting.slice(0, index), ...pieces, ...this.waiting.slice(index + 1)]
    for (const { bytes } of pieces) this.bytes += bytes
    this.bytes -= whole.bytes
    return pieces[0]
  }

  private push(chunk: JsonObject, json: string): void {
    const waiting = waitingOf(chunk, json)
    this.waiting.push(waiting)
    this.bytes += waiting.bytes
  }
}
