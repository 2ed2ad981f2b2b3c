/** Attempts at a tool call, and what their failures mean. */
import { Duration, Effect } from "effect"
import { isRefused, REFUSED } from "./guardedConnect.ts"
import { failedOutput, type ToolOutput } from "./ToolOutput.ts"

/** One attempt; `again` tells whether another may succeed. */
export interface ToolAttempt {
  readonly output: ToolOutput
  readonly again: boolean
}

/** The part of a tool that decides whether its calls are repeated. */
interface Repeatable {
  readonly read_only?: boolean | undefined
  readonly idempotent?: boolean | undefined
}

const mayRepeat = ({ idempotent, read_only }: Repeatable): boolean => read_only === true || idempotent === true

const PAUSES = [Duration.millis(500), Duration.seconds(2)]

/** Calls a tool, and a read-only or idempotent one up to three times if a repetition may help. */
export const repeated = Effect.fnUntraced(function* (tool: Repeatable, attempt: Effect.Effect<ToolAttempt>) {
  let last = yield* attempt
  for (const pause of mayRepeat(tool) ? PAUSES : []) {
    if (!last.again) break
    yield* Effect.sleep(pause)
    last = yield* attempt
  }
  return last.output
})

/** Failure of a call that was sent, but whose answer did not come or could not be read. */
export const unanswered = (tool: Repeatable, what: string, again = true): ToolAttempt => ({
  output: failedOutput(mayRepeat(tool) ? what : `${what} The call may have been carried out.`),
  again,
})

/** Failure of a call that could not be sent to a permitted address, or whose answer broke off. */
export const broken = (tool: Repeatable, cause: unknown): ToolAttempt =>
  isRefused(cause)
    ? { output: failedOutput(`The tool was not called: ${REFUSED}`), again: false }
    : unanswered(tool, "The tool could not be reached, or its answer broke off.")

export const late = (tool: Repeatable, seconds: number): ToolAttempt =>
  unanswered(tool, `The tool gave no whole answer within ${seconds} s.`)
