/** Merges live and stored events of a job into one stream for a follower, without gap or repetition. */
import { type Job, type JobStep } from "../../domain/jobs/job.ts"
import {
  inputBegun,
  type JobEvent,
  type JobPosition,
  MAX_OPEN,
  type OpenStep,
  positionText,
} from "../../domain/jobs/jobEvents.ts"
import { stepOf } from "../../domain/jobs/step.ts"
import type { Begun, TextPiece } from "./LiveSteps.ts"

/** The text of a finished step, and when it began. */
interface StoredText {
  readonly text: string
  /** Absent if followers do not get the text. */
  readonly since?: number
}

type Unnumbered = JobEvent extends infer Event ? (Event extends JobEvent ? Omit<Event, "id"> : never) : never

/** Time after which a piece is asked for again, in milliseconds. */
const ASKED_AGAIN_AFTER = 1000

export class Follower {
  /** The last stored event that the follower got. */
  event: number
  private readonly open: Map<string, OpenStep>
  /** When steps finished, by name. Later live events of these steps are stale. */
  private readonly finished = new Map<string, number>()
  private readonly asked = new Map<string, { readonly at: number; readonly moment: number }>()

  constructor({ event, open }: JobPosition) {
    this.event = event
    this.open = new Map(open)
  }

  /** Whether the follower does not know that the step began. */
  isNew({ name, started_at }: Begun): boolean {
    const since = started_at.epochMilliseconds
    return !this.isOld(name, since) && (this.open.get(name)?.since ?? -Infinity) < since
  }

  begun(step: Begun): ReadonlyArray<JobEvent> {
    if (!this.isNew(step)) return []
    this.note(step.name, { since: step.started_at.epochMilliseconds, at: 0 })
    return [this.numbered("tool" in step ? { _tag: "ToolCall", call: step } : { _tag: "Begun", step })]
  }

  piece({ at, name, since, text }: TextPiece): ReadonlyArray<JobEvent> {
    const known = this.open.get(name)
    if (known === undefined || known.since > since || this.isOld(name, since)) return []
    const has = known.since === since ? known.at : 0
    if (known.since < since) this.note(name, { since, at: 0 })
    const fresh = at > has ? "" : text.slice(has - at)
    return fresh === "" ? [] : [this.delta(name, since, has, fresh)]
  }

  /** The position from which the follower lacks text that its worker has; `undefined` if there is nothing to ask for now. */
  lacks(name: string, sent: number, now: number): number | undefined {
    const at = this.open.get(name)?.at
    if (at === undefined || at >= sent) return undefined
    const last = this.asked.get(name)
    if (last?.at === at && now - last.moment < ASKED_AGAIN_AFTER) return undefined
    this.asked.set(name, { at, moment: now })
    return at
  }

  /** Emits a finished step, preceded by missing parts of its text or call. */
  step(id: number, step: JobStep, text: StoredText | undefined): ReadonlyArray<JobEvent> {
    const missing = [...this.missingText(step, text), ...this.missingCall(step)]
    this.open.delete(step.name)
    this.asked.delete(step.name)
    this.finished.set(step.name, step.finished_at.epochMilliseconds)
    this.event = id
    return [...missing, this.numbered({ _tag: "Step", step })]
  }

  inputRequired(id: number, job: Job): ReadonlyArray<JobEvent> {
    if (id <= this.event) return []
    this.event = id
    return [this.numbered({ _tag: "InputRequired", job })]
  }

  ended(id: number, job: Job): ReadonlyArray<JobEvent> {
    this.open.clear()
    this.event = id
    return [this.numbered({ _tag: "Ended", job })]
  }

  private missingText({ name }: JobStep, stored: StoredText | undefined): ReadonlyArray<JobEvent> {
    if (stored?.since === undefined) return []
    const { since, text } = stored
    const known = this.open.get(name)
    const at = known?.since === since ? known.at : 0
    const rest = text.slice(at)
    return rest === "" ? [] : [this.delta(name, since, at, rest)]
  }

  private missingCall(step: JobStep): ReadonlyArray<JobEvent> {
    const { name, started_at, tool } = step
    if (tool === undefined || step.call === undefined) return []
    const events: Array<JobEvent> = []
    const known = this.open.get(name) ?? { since: started_at.epochMilliseconds, at: 0 }
    if (!this.open.has(name)) {
      this.note(name, known)
      const begun = { name, ...stepOf(step), started_at }
      events.push(
        this.numbered({ _tag: "ToolCall", call: { ...begun, tool: tool.name, input: inputBegun(tool.input) } }),
      )
    }
    if (known.at === 0) {
      this.note(name, { ...known, at: 1 })
      const { is_error, name: called, output } = tool
      events.push(this.numbered({ _tag: "ToolResult", result: { name, tool: called, output, is_error } }))
    }
    return events
  }

  private delta(name: string, since: number, at: number, text: string): JobEvent {
    this.note(name, { since, at: at + text.length })
    return this.numbered({ _tag: "Delta", delta: { name, at, text: text.toWellFormed() } })
  }

  private isOld(name: string, since: number): boolean {
    return since <= (this.finished.get(name) ?? -Infinity)
  }

  private note(name: string, step: OpenStep): void {
    const oldest = this.open.keys().next().value
    if (!this.open.has(name) && this.open.size === MAX_OPEN && oldest !== undefined) this.open.delete(oldest)
    this.open.set(name, step)
  }

  private numbered(event: Unnumbered): JobEvent {
    // The members of the union are kept.
    return { ...event, id: positionText({ event: this.event, open: this.open }) } as JobEvent
  }
}
