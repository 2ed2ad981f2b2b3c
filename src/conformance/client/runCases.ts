/** Puts a client through all cases. */
import { Effect } from "effect"
import type { Form } from "../../domain/protocol/transcript.ts"
import { type Report, reportOf, type Result } from "../report.ts"
import type { Case } from "./Case.ts"
import type { CaseServer } from "./CaseServer.ts"
import { judge, type Said } from "./judge.ts"

/** Where a client is sent, whom it has to believe, and which form it should ask for if it has a choice. */
export interface Asked {
  readonly url: string
  readonly pin: string
  readonly form: Form
}

/** Asks a client for one completion. It says what came of it, and fails at nothing. */
export type Tester = (asked: Asked) => Effect.Effect<Said>

export interface Running {
  readonly tester: Tester
  readonly concurrency: number
  readonly onResult?: (result: Result, done: number, all: number) => void
}

const played = Effect.fnUntraced(function* (server: CaseServer, subject: Case, tester: Tester) {
  const said = yield* tester({
    url: `${server.url}/${subject.name}`,
    pin: server.pin,
    form: subject.form ?? "complete",
  })
  const play = server.play(subject.name)
  if (play === undefined) return yield* Effect.die(new Error(`the server has no case ${subject.name}`))
  return { play, result: judge(subject, play, said, server.text) }
})

/** Whether a case only finds out what a client is. */
const isForm = ({ expect, form, lie }: Case): boolean =>
  expect === "believed" && form !== undefined && Object.keys(lie).length === 0

/**
 * `cases` of `server`. The honest ones come first, because they tell which forms the client asks for: cases of another one are
 * not played.
 */
export const runCases = Effect.fnUntraced(function* (
  server: CaseServer,
  cases: ReadonlyArray<Case>,
  { concurrency, onResult, tester }: Running,
) {
  const known = new Set<Form>()
  let done = 0
  const tell = (result: Result) => {
    onResult?.(result, ++done, cases.length)
    return result
  }
  const first = yield* Effect.forEach(
    cases.filter(isForm),
    (subject) =>
      Effect.map(played(server, subject, tester), ({ play, result }) => {
        if (play.form !== undefined) known.add(play.form)
        return tell(result)
      }),
    { concurrency },
  )
  const others = yield* Effect.forEach(
    cases.filter((subject) => !isForm(subject)),
    (subject) => {
      const { form, must, name, says } = subject
      if (form !== undefined && known.size > 0 && !known.has(form)) {
        return Effect.succeed(
          tell({ must, name, says, outcome: "skipped", saw: `the client never asks for the form ${form}` }),
        )
      }
      return Effect.map(played(server, subject, tester), ({ result }) => tell(result))
    },
    { concurrency },
  )
  const report: Report = reportOf("client", [...first, ...others])
  return report
})
