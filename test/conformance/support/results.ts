/** Runs the kits against a server or a client, and sorts what they found. */
import { Duration, Effect } from "effect"
import type { SealedClient, SealedClientOptions } from "../../../src/client/sealed/SealedClient.ts"
import type { Case } from "../../../src/conformance/client/Case.ts"
import { serveCases } from "../../../src/conformance/client/CaseServer.ts"
import type { ClientVerdict } from "../../../src/conformance/client/judge.ts"
import { runCases, type Tester } from "../../../src/conformance/client/runCases.ts"
import type { Check } from "../../../src/conformance/proxy/Check.ts"
import { runChecks } from "../../../src/conformance/proxy/runChecks.ts"

const limit = Duration.seconds(120)

interface Server {
  readonly url: string
  readonly kid: string
  readonly credential?: string
}

export const resultsOfServer = ({ credential = "", kid, url }: Server, checks: ReadonlyArray<Check>) =>
  Effect.map(runChecks({ url: new URL(url), pins: [kid], credential }, checks, { limit }), ({ results }) => {
    const of = (outcome: string) => results.filter((result) => result.outcome === outcome)
    return { passed: of("pass"), failed: of("fail"), skipped: of("skipped") }
  })

export interface Options extends Partial<SealedClientOptions> {
  readonly restart?: boolean
}

/** A client in this process, which is asked for either form. */
export const testerOf =
  (Client: typeof SealedClient, { restart = true, ...options }: Options = {}): Tester =>
  ({ form, pin, url }) =>
    Effect.promise(async (): Promise<ClientVerdict> => {
      const client = new Client({ baseUrl: url, pins: [pin], ...options })
      try {
        const output =
          form === "complete"
            ? String((await client.complete({ prompt: "hello" })).completion.choices[0]?.message.content)
            : await (await client.stream({ prompt: "hello" }, { restart })).text()
        return { type: "believed", output }
      } catch {
        return { type: "refused" }
      }
    })

/** Runs `cases` with a new server, because a server remembers its clients. */
export const resultsOfClient = Effect.fnUntraced(function* (
  cases: ReadonlyArray<Case>,
  tester: Tester,
  concurrency = 8,
) {
  const server = yield* Effect.acquireRelease(
    Effect.promise(() => serveCases(cases, 0)),
    ({ close }) => Effect.promise(close),
  )
  const { results } = yield* runCases(server, cases, { tester, concurrency })
  const of = (outcome: string) => results.filter((result) => result.outcome === outcome)
  return { passed: of("pass"), failed: of("fail"), skipped: of("skipped").map(({ name }) => name) }
})
