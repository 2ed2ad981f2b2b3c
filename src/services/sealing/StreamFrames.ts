/** The frames of one sealed stream: which payload each has, and whether one may be sealed yet. */
import type { Context } from "effect"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { floorOf, UNPACED } from "../../domain/protocol/pace.ts"
import type { EndStatus } from "../../domain/protocol/transcript.ts"
import type { ApiEvent, Served } from "../../domain/upstream/upstream.ts"
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

/** Most frames that are sealed at once after the transport was not ready. */
const MOST_AT_ONCE = 64

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
  /** Payloads of ticks that the transport has not taken yet, and their bytes. */
  private readonly due: Array<Bytes> = []
  private dueBytes = 0
  private seq = 0
  /** The final frame has had its tick: no further data frame follows. */
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

  /** Whether more may be read from the provider. An unpaced stream has a frame for each arrival. */
  get hasRoom(): boolean {
    return this.isPaced ? this.backlog.size + this.dueBytes <= FULL : this.backlog.isEmpty
  }

  /** Whether everything that arrived has its frame. */
  get isEmpty(): boolean {
    return this.backlog.isEmpty
  }

  /** Whether all data frames were sealed, so that the final frame is the next one. */
  get isFinalNext(): boolean {
    return this.isPaced
      ? this.finalTickCame && this.due.length === 0
      : this.outcome !== undefined && this.backlog.isEmpty
  }

  /** Fixes the payload of this tick's frame, or ends the stream. It depends on what has arrived, never on the transport. */
  tick(): void {
    if (this.finalTickCame) return
    if (this.outcome !== undefined && this.backlog.isEmpty && this.seq + this.due.length > 0) {
      this.finalTickCame = true
      return
    }
    const payload = this.backlog.take()
    this.due.push(payload)
    this.dueBytes += payload.length
  }

  /** Seals the frames to be sent next, if there are any. */
  next(): ReadonlyArray<SealedEvent> {
    if (this.isPaced) return this.takeDue(MOST_AT_ONCE)
    return this.backlog.isEmpty ? [] : [this.seal(this.backlog.take(), false)]
  }

  /** Seals the frames for a shutdown: after one more tick, so that their number does not reveal how much is left out. */
  rest(): ReadonlyArray<SealedEvent> {
    if (this.isPaced) {
      this.tick()
      return this.takeDue(this.due.length)
    }
    const frames: Array<SealedEvent> = []
    while (!this.backlog.isEmpty) frames.push(this.seal(this.backlog.take(), false))
    return frames
  }

  seal(payload: Uint8Array, final: boolean): SealedEvent {
    framesSealed.updateUnsafe(1, this.context)
    const ciphertext = this.sealer.seal("stream", payload, final, this.floor)
    this.hasEnded = final
    return { _tag: "Frame", seq: this.seq++, final, ciphertext }
  }

  private takeDue(most: number): ReadonlyArray<SealedEvent> {
    return this.due.splice(0, most).map((payload) => {
      this.dueBytes -= payload.length
      return this.seal(payload, false)
    })
  }
}
