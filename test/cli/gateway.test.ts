/** The commands that talk to a running gateway. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import type { Command } from "effect/cli"
import { GatewayClient } from "../../src/client/gateway/GatewayClient.ts"
import { agentsCommand } from "../../src/cli/gateway/agentsCommand.ts"
import { jobsCommand } from "../../src/cli/gateway/jobsCommand.ts"
import { statsCommand } from "../../src/cli/gateway/statsCommand.ts"
import { runCommand } from "../../src/cli/gateway/runCommand.ts"
import { defineMode } from "../../src/services/jobs/modes/own/defineMode.ts"
import { run } from "../support/cli.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import { temporaryFolder } from "../support/proxy.ts"

const gateway = Effect.gen(function* () {
  const echo = defineMode({ name: "echo", run: (job) => Effect.succeed({ answer: String(job.task) }) })
  const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }), {}, undefined, [echo])
  const as = (token: string | undefined) =>
    Effect.fnUntraced(function* <const Name extends string, Input, Context, E>(
      command: Command.Command<Name, Input, Context, E, Command.Environment>,
      ...args: ReadonlyArray<string>
    ) {
      return yield* run(command, [...args, "--gateway", url]).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromEnv({ env: token === undefined ? {} : { SEALGATE_TOKEN: token } }),
        ),
      )
    })
  return { as, url }
})

describe("commands for a gateway", () => {
  it.live("run a task with an agent that is created once, and list the results", () =>
    Effect.gen(function* () {
      const { as } = yield* gateway
      const alice = as(yield* tokenFor("alice"))
      assert.include((yield* alice(agentsCommand)).stdout, "No agents yet")

      const told = yield* alice(runCommand, "Say it back.", "--mode", "verified")
      assert.strictEqual(told.code, 0, told.stderr)
      assert.include(told.stdout, "Say it back.")
      assert.include(told.stdout, "inconclusive")

      const again = yield* alice(runCommand, "Once more.", "--json")
      const job = JSON.parse(again.stdout) as { readonly status: string; readonly mode: string; readonly id: string }
      assert.strictEqual(again.code, 0, again.stderr)
      assert.deepInclude(job, { status: "completed", mode: "adversarial" })

      const agents = JSON.parse((yield* alice(agentsCommand, "--json")).stdout) as ReadonlyArray<{ name: string }>
      assert.deepStrictEqual(
        agents.map(({ name }) => name),
        ["command-line"],
      )
      const jobs = (yield* alice(jobsCommand, "--status", "completed")).stdout.split("\n")
      assert.strictEqual(jobs.length, 3)
      assert.include(jobs[1], job.id)
      assert.include((yield* alice(jobsCommand, "--status", "failed")).stdout, "No jobs with the status failed.")
      const one = yield* alice(jobsCommand, "show", job.id)
      assert.include(one.stdout, "Once more.")
      assert.include(one.stdout, "Verdict: inconclusive")
      assert.deepInclude(JSON.parse((yield* alice(jobsCommand, "show", job.id, "--json")).stdout), { id: job.id })
      assert.strictEqual((yield* alice(jobsCommand, "show", "01a1fc17-d79c-7432-92db-922d1cc077c2")).code, 1)

      assert.match(jobs[1] ?? "", /Once more\.$/)
      const followed = yield* alice(jobsCommand, "follow", job.id)
      assert.deepStrictEqual([followed.code, followed.stdout.split("\n")[0]], [0, "Once more."])
      const cancelled = yield* alice(jobsCommand, "cancel", job.id, "--json")
      assert.deepInclude(JSON.parse(cancelled.stdout), { id: job.id, status: "completed" })

      const made = JSON.parse((yield* alice(agentsCommand, "create", "reviewer", "--json")).stdout) as { id: string }
      const byIt = yield* alice(runCommand, "By the reviewer.", "--agent", made.id)
      assert.strictEqual(byIt.code, 0, byIt.stderr)
      const empty = yield* alice(runCommand, " ")
      assert.strictEqual(empty.code, 2)
      assert.include(empty.stderr, "The task is empty")

      const stats = JSON.parse((yield* alice(statsCommand, "--json")).stdout) as { readonly requests: number }
      assert.isAbove(stats.requests, 1)
      assert.include((yield* alice(statsCommand)).stdout, "saved")

      const bob = as(yield* tokenFor("bob"))
      assert.include((yield* bob(jobsCommand)).stdout, "No jobs yet")
    }),
  )

  it.live("report errors, with exit code 1 for a refusal and 2 for a missing token or argument", () =>
    Effect.gen(function* () {
      const { as } = yield* gateway
      const nobody = yield* as(undefined)(agentsCommand)
      assert.strictEqual(nobody.code, 2)
      assert.include(nobody.stderr, "SEALGATE_TOKEN is not set")

      const stranger = yield* as("not-a-token")(jobsCommand)
      assert.strictEqual(stranger.code, 1)
      assert.include(stranger.stderr, "token")
      assert.include(stranger.stderr, "`sealgate token` mints a new one")

      const alice = as(yield* tokenFor("alice"))
      const refused = yield* alice(statsCommand, "--all")
      assert.strictEqual(refused.code, 1)
      assert.notStrictEqual(refused.stderr.trim(), "")
      const unknown = yield* alice(runCommand, "x", "--agent", "01a1fc17-d79c-7432-92db-922d1cc077c2")
      assert.strictEqual(unknown.code, 1)
      const loud = yield* alice(runCommand, "x", "--mode", "loud")
      assert.strictEqual(loud.code, 1)
      assert.include(loud.stderr, "possible are adversarial, verified, direct, echo.")
      const own = yield* alice(runCommand, "Say it back.", "--mode", "echo")
      assert.strictEqual(own.code, 0, own.stderr)
      assert.include(own.stdout, "Say it back.")
    }),
  )

  it.live("begin a thread and continue it", () =>
    Effect.gen(function* () {
      const { as, url } = yield* gateway
      const token = yield* tokenFor("carol")
      const carol = as(token)
      const client = new GatewayClient({ baseUrl: url, token })
      assert.strictEqual((yield* carol(runCommand, "One", "--mode", "direct", "--thread", "new")).code, 0)
      const thread = (yield* Effect.promise(() => client.threads.list())).items[0]?.id ?? ""
      assert.strictEqual((yield* carol(runCommand, "Two", "--mode", "direct", "--thread", thread)).code, 0)
      const { items } = yield* Effect.promise(() => client.jobs.list({ thread_id: thread }))
      assert.deepStrictEqual(
        items.map(({ task }) => task),
        ["Two", "One"],
      )
    }),
  )

  it.live("pass on the schema of an output, and name the mistake in its file", () =>
    Effect.gen(function* () {
      const { as, url } = yield* gateway
      const token = yield* tokenFor("frank")
      const frank = as(token)
      const client = new GatewayClient({ baseUrl: url, token })
      const file = join(yield* temporaryFolder, "schema.json")
      const running = (mode: string) => frank(runCommand, "Where?", "--mode", mode, "--output-schema", file)
      const missing = yield* running("direct")
      assert.strictEqual(missing.code, 2)
      assert.include(missing.stderr, "The file of --output-schema cannot be read")
      assert.deepStrictEqual((yield* Effect.promise(() => client.agents.list())).items, [])
      writeFileSync(file, "[]")
      assert.include((yield* running("direct")).stderr, "not a JSON object")
      const schema = { type: "object", properties: { city: { type: "string" } } }
      writeFileSync(file, JSON.stringify(schema))
      assert.include((yield* running("verified")).stderr, "Only the direct mode")
      // The echo of this gateway writes no JSON.
      const failed = yield* running("direct")
      assert.strictEqual(failed.code, 1)
      assert.include(failed.stdout, "output_schema")
      const { items } = yield* Effect.promise(() => client.jobs.list())
      assert.deepStrictEqual(items[0]?.options, { output_schema: schema })
    }),
  )

  it.live("read further pages if a page ends early, as pages of large agents and jobs do", () =>
    Effect.gen(function* () {
      const { as, url } = yield* gateway
      const token = yield* tokenFor("bob")
      const bob = as(token)
      assert.strictEqual((yield* bob(runCommand, "Hello.")).code, 0)
      const client = new GatewayClient({ baseUrl: url, token })
      const instructions = "x".repeat(100_000)
      const names = Array.from({ length: 12 }, (_, i) => String(i))
      for (const name of names) yield* Effect.promise(() => client.agents.create({ name, instructions }))
      assert.isDefined((yield* Effect.promise(() => client.agents.list())).next_cursor, "not all fit one page")

      const listed = (...args: ReadonlyArray<string>) =>
        Effect.map(bob(agentsCommand, "--json", ...args), ({ stdout }) =>
          (JSON.parse(stdout) as ReadonlyArray<{ name: string }>).map(({ name }) => name),
        )
      assert.deepStrictEqual(yield* listed(), [...names.toReversed(), "command-line"])
      assert.deepStrictEqual(yield* listed("--limit", "2"), ["11", "10"])

      assert.strictEqual((yield* bob(runCommand, "Once more.")).code, 0)
      assert.lengthOf(yield* listed(), 13, "takes its own agent again, though it is on the last page")
    }),
  )
})
