import { Effect } from "effect"
import type { Form } from "../../domain/protocol/transcript.ts"
import { reportOf, type Result, type TestReport } from "../report.ts"
import type { Case } from "./Case.ts"
import type { CaseServer } from "./CaseServer.ts"
import { judge, type ClientVerdict } from "./judge.ts"

/** Address and pin for a client, and the form to ask for if it has a choice. */
export interface ClientTask {
  readonly url: string
  readonly pin: string
  readonly form: Form
}

/** Makes a client ask for one completion and returns its verdict. */
export type Tester<E = never> = (asked: ClientTask) => Effect.Effect<ClientVerdict, E>

interface TestRun<E> {
  readonly tester: Tester<E>
  readonly concurrency: number
  readonly onResult?: (result: Result, done: number, all: number) => void
}

const played = Effect.fnUntraced(function* <E>(server: CaseServer, subject: Case, tester: Tester<E>) {
  const said = yield* tester({
    url: `${server.url}/${subject.name}`,
    pin: server.pin,
    form: subject.form ?? "complete",
  })
  const play = server.play(subject.name)
  if (play === undefined) return yield* Effect.die(new Error(`the server has no case ${subject.name}`))
  return { play, result: judge(subject, play, said, server.text) }
})

/** Whether a case only finds out the client's form. */
const isForm = ({ expect, form, lie }: Case): boolean =>
  expect === "answer" && form !== undefined && Object.keys(lie).length === 0

/** Honest cases come first: they show which forms the client asks for, and cases of other forms are skipped. */
export const runCases = Effect.fnUntraced(function* <E>(
  server: CaseServer,
  cases: ReadonlyArray<Case>,
  { concurrency, onResult, tester }: TestRun<E>,
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
  const report: TestReport = reportOf("client", [...first, ...others])
  return report
})
