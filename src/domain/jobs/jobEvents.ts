/** The events of a job's stream, and the position of a follower in it. */
import { Schema } from "effect"
import type { Job, JobStep } from "./job.ts"
import { Step } from "./step.ts"
import { shownText } from "./tool.ts"

const Time = Schema.DateTimeUtcFromString
const Name = Schema.NonEmptyString.annotate({ description: "The `name` that the finished step will have." })
const Tool = Schema.String.annotate({ description: "The name of the tool." })

/** A step that begins, with its first target. If another takes over, the finished {@link JobStep} names that one. */
export const JobStepBegun = Schema.Struct({
  name: Name,
  ...Step.fields,
  provider: Schema.String,
  model: Schema.String,
  started_at: Time,
}).annotate({ identifier: "JobStepBegun" })
export type JobStepBegun = typeof JobStepBegun.Type

/** A piece of the text that a model writes in a step. Tools and examiners write none. */
export const JobDelta = Schema.Struct({
  name: Name,
  at: Schema.Natural.annotate({
    description:
      "Where `text` belongs in the step's text, in UTF-16 code units. Pieces follow each other; at 0 the text begins, or begins again after a failure or refusal.",
  }),
  text: Schema.String,
}).annotate({ identifier: "JobDelta" })
export type JobDelta = typeof JobDelta.Type

export const JobToolCall = Schema.Struct({
  name: Name,
  ...Step.fields,
  tool: Tool,
  input: Schema.String.annotate({ description: "The beginning of its arguments, as the model wrote them." }),
  started_at: Time,
}).annotate({ identifier: "JobToolCall" })
export type JobToolCall = typeof JobToolCall.Type

export const JobToolResult = Schema.Struct({
  name: Name,
  tool: Tool,
  output: Schema.String.annotate({
    description: "What the tool returned, or why the call failed; cut like the step's.",
  }),
  is_error: Schema.Boolean.annotate({ description: "Whether the call failed." }),
}).annotate({ identifier: "JobToolResult" })
export type JobToolResult = typeof JobToolResult.Type

/** Most characters of a call's input in its event. It reaches followers at other gateways in one notification. */
const MAX_INPUT = 700

export const inputBegun = (text: string): string => shownText(text, MAX_INPUT)

/** An event of a job's stream. `id` is the follower's position after it, and resumes the stream (`Last-Event-ID`). */
export type JobEvent = { readonly id: string } & (
  | { readonly _tag: "Begun"; readonly step: JobStepBegun }
  | { readonly _tag: "Delta"; readonly delta: JobDelta }
  | { readonly _tag: "ToolCall"; readonly call: JobToolCall }
  | { readonly _tag: "ToolResult"; readonly result: JobToolResult }
  | { readonly _tag: "Step"; readonly step: JobStep }
  | { readonly _tag: "InputRequired"; readonly job: Job }
  | { readonly _tag: "Ended"; readonly job: Job }
)

/**
 * A follower's position in an unfinished step: `since` is when its text, or its call, began, in milliseconds since the epoch;
 * `at` counts the characters of its text, or the results of its call.
 */
export interface OpenStep {
  readonly since: number
  readonly at: number
}

/** The last finished step or end that a follower got, and its unfinished steps by name. */
export interface JobPosition {
  readonly event: number
  readonly open: ReadonlyMap<string, OpenStep>
}

export const START: JobPosition = { event: 0, open: new Map() }

/** Maximum number of unfinished steps in a position. */
export const MAX_OPEN = 16

/** A position as text: `12`, or `12,turn-3.1764100000000.340` with unfinished steps. */
export const JobEventId = Schema.String.check(
  Schema.isMaxLength(2500),
  Schema.isPattern(/^\d{1,15}(,[a-z0-9-]{1,100}\.\d{1,15}\.\d{1,15}){0,16}$/, { expected: "the id of an event" }),
)

export const positionText = ({ event, open }: JobPosition): string =>
  [event, ...[...open].map(([name, { at, since }]) => `${name}.${since}.${at}`)].join(",")

export const positionOf = (text: string): JobPosition => {
  const [event, ...open] = text.split(",")
  return {
    event: Number(event),
    open: new Map(
      open.map((step) => {
        const [name = "", since, at] = step.split(".")
        return [name, { since: Number(since), at: Number(at) }]
      }),
    ),
  }
}
