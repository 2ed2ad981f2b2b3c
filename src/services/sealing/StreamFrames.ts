/** The frames of one sealed stream: which payload each has, and whether one may be sealed yet. */
import type { Context } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { floorOf, UNPACED } from "../../domain/protocol/pace.ts"
import type { EndStatus } from "../../domain/protocol/transcript.ts"
import type { ApiEvent, Served } from "../../domain/upstream/upstream.ts"
import { Aborted } from "../lifecycle/Drain.ts"
import { Backlog, FULL } from "./Backlog.ts"
import { CallLog } from "./CallLog.ts"
import type { ReadRequest } from "./readRequest.ts"
import type { ResponseSealer } from "./ResponseSealer.ts"
import type { ServingError } from "./sealedProblem.ts"
import { framesSealed } from "./SealingMetrics.ts"

/** One event of a sealed stream after its `open` event. */
export type SealedEvent =
  | { readonly _tag: "Frame"; readonly seq: number; readonly final: boolean; readonly ciphertext: Bytes }
  | { readonly _tag: "Proof"; readonly proof: string }

export interface Outcome {
  readonly status: EndStatus
  readonly error?: ServingError
}

export const COMPLETE: Outcome = { status: "complete" }
const ABORTED: Outcome = { status: "aborted", error: new Aborted() }

/** Most frames sealed in one go when the transport becomes ready again. */
const MOST_AT_ONCE = 64

/** Consecutive ticks with the same payload. */
interface Due {
  readonly payload: Bytes
  ticks: number
}

/** Memory of a payload besides its bytes. */
const OVERHEAD = 512
const costOf = ({ payload }: Due): number => payload.length + OVERHEAD

export class StreamFrames {
  /** Set once the provider has answered or failed. */
  outcome: Outcome | undefined
  /** Whether the final frame was sealed. */
  hasEnded = false
  readonly isPaced: boolean
  readonly calls = new CallLog()
  private readonly sealer: ResponseSealer
  private readonly context: Context.Context<never>
  private readonly floor: number
  private readonly backlog: Backlog
  /** Ticks whose frames the transport has not taken yet, and their memory. */
  private readonly due: Array<Due> = []
  private dueBytes = 0
  private seq = 0
  /** Whether the final frame has had its tick, so that no further data frame follows. */
  private finalTickCame = false

  constructor(
    sealer: ResponseSealer,
    { api, pace }: Pick<ReadRequest, "api" | "pace">,
    context: Context.Context<never>,
  ) {
    this.sealer = sealer
    this.context = context
    this.isPaced = pace !== UNPACED
    this.floor = floorOf(pace)
    this.backlog = new Backlog(api, this.isPaced)
  }

  add(event: ApiEvent): void {
    this.calls.recordEvent(event)
    if (event._tag === "Delta") return this.backlog.add(event.chunk)
    const { _tag: _, ...restart } = event
    this.backlog.startOver(restart)
  }

  complete(served: Served): void {
    this.calls.served = served
    this.backlog.end()
    this.outcome = COMPLETE
  }

  /** Whether more may be read from the provider. Unpaced, each arrival is sealed before the next is read. */
  get hasRoom(): boolean {
    return this.isPaced ? this.backlog.size + this.dueBytes <= FULL : this.backlog.isEmpty
  }

  /** Whether all data frames were sealed, so that the final frame is the next one. */
  get isFinalNext(): boolean {
    return this.isPaced
      ? this.finalTickCame && this.due.length === 0
      : this.outcome !== undefined && this.backlog.isEmpty
  }

  /** Decides this tick's frame: a payload, or the final one. Depends on what has arrived, never on the transport. */
  tick(): void {
    if (this.finalTickCame) return
    // A stream has at least one data frame.
    const hasDataFrame = this.seq + this.due.length > 0
    if (this.outcome !== undefined && this.backlog.isEmpty && hasDataFrame) {
      this.finalTickCame = true
      return
    }
    const payload = this.backlog.take()
    const last = this.due.at(-1)
    if (last?.payload === payload) {
      last.ticks++
      return
    }
    const due = { payload, ticks: 1 }
    this.due.push(due)
    this.dueBytes += costOf(due)
  }

  /** Ends the data frames for a shutdown: after one more tick, so that their number does not reveal how much is left out. */
  stop(): void {
    if (this.isPaced) this.tick()
    this.finalTickCame = true
    // Data that a paced stream still holds is left out. Without pace, it is sent before the final frame.
    this.outcome = this.isPaced && !this.backlog.isEmpty ? ABORTED : (this.outcome ?? ABORTED)
  }

  /** Seals the frames to be sent next, if there are any. */
  next(): ReadonlyArray<SealedEvent> {
    if (this.isPaced) return this.takeDue()
    return this.backlog.isEmpty ? [] : [this.seal(this.backlog.take(), false)]
  }

  seal(payload: Uint8Array, final: boolean): SealedEvent {
    framesSealed.updateUnsafe(1, this.context)
    const ciphertext = this.sealer.seal("stream", payload, final, this.floor)
    this.hasEnded = final
    return { _tag: "Frame", seq: this.seq++, final, ciphertext }
  }

  private takeDue(): ReadonlyArray<SealedEvent> {
    const frames: Array<SealedEvent> = []
    while (frames.length < MOST_AT_ONCE) {
      const first = this.due[0]
      if (first === undefined) break
      frames.push(this.seal(first.payload, false))
      if (--first.ticks > 0) continue
      this.due.shift()
      this.dueBytes -= costOf(first)
    }
    return frames
  }
}
