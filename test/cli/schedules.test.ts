/** The commands for schedules and threads of a gateway. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import type { Command } from "effect/cli"
import { schedulesCommand } from "../../src/cli/gateway/schedulesCommand.ts"
import { threadsCommand } from "../../src/cli/gateway/threadsCommand.ts"
import { run } from "../support/cli.ts"
import { call, databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"

const start = Effect.gen(function* () {
  const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
  const token = yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] })
  const boss = <const Name extends string, Input, Context, E>(
    command: Command.Command<Name, Input, Context, E, Command.Environment>,
    ...args: ReadonlyArray<string>
  ) =>
    run(command, [...args, "--gateway", url]).pipe(
      Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env: { SEALGATE_TOKEN: token } })),
    )
  const { json } = yield* call({ url }, "POST", "/api/v1/agents", { token, body: { name: "reviewer" } })
  return { boss, url, token, agent: String(json["id"]) }
})

const UNKNOWN = "01890a5d-ac96-774b-bcce-b302099a8057"

describe("commands for schedules", () => {
  it.live("make one, list and show its next time and task, and delete it", () =>
    Effect.gen(function* () {
      const { agent, boss } = yield* start
      assert.include((yield* boss(schedulesCommand)).stdout, "No schedules yet")
      const flags = [
        "--agent",
        agent,
        "--cron",
        "0 7 * * 1-5",
        "--time-zone",
        "Europe/Oslo",
        "--concurrency-key",
        "report",
      ]
      const made = yield* boss(schedulesCommand, "create", ...flags, "Summarize the issues.")
      const [id = ""] = made.stdout.split("\n")
      assert.include(made.stdout, "Its first job starts at 2")
      const listed = yield* boss(schedulesCommand)
      for (const text of [id, "0 7 * * 1-5 (Europe/Oslo)", "none yet", "Summarize the issues."]) {
        assert.include(listed.stdout, text)
      }
      const shown = yield* boss(schedulesCommand, "show", id)
      assert.match(shown.stdout, /times +0 7 \* \* 1-5 \(Europe\/Oslo\)\n/)
      const whole: unknown = JSON.parse((yield* boss(schedulesCommand, "show", id, "--json")).stdout)
      assert.deepInclude(whole, {
        agent_id: agent,
        request: { task: "Summarize the issues.", concurrency: { key: "report" } },
      })
      assert.include((yield* boss(schedulesCommand, "delete", id)).stdout, `Deleted ${id}.`)
      const gone = yield* boss(schedulesCommand, "show", id)
      assert.strictEqual(gone.code, 1)
      assert.include(gone.stderr, "`sealgate schedules` lists them")
    }),
  )

  it.live("show the key that made a schedule", () =>
    Effect.gen(function* () {
      const { agent, boss, url, token } = yield* start
      const key = (yield* call({ url }, "POST", "/api/v1/keys", { token, body: { name: "ci", roles: ["manage"] } }))
        .json
      const body = { agent_id: agent, cron: "0 7 * * *", request: { task: "Report." } }
      const { json } = yield* call({ url }, "POST", "/api/v1/schedules", { token: String(key["key"]), body })
      assert.include((yield* boss(schedulesCommand)).stdout, String(key["id"]))
      const shown = yield* boss(schedulesCommand, "show", String(json["id"]))
      assert.include(shown.stdout, `key      ${String(key["id"])}\n`)
    }),
  )

  it.live("say what is wrong with a schedule", () =>
    Effect.gen(function* () {
      const { agent, boss } = yield* start
      const odd = yield* boss(schedulesCommand, "create", "--agent", agent, "--cron", "0 0 31 2 *", "Never.")
      assert.strictEqual(odd.code, 1)
      assert.include(odd.stderr, "cron: no time matches")
      const missing = yield* boss(schedulesCommand, "create", "--agent", UNKNOWN, "--cron", "0 7 * * *", "Hm.")
      assert.strictEqual(missing.code, 1)
      assert.include(missing.stderr, "`sealgate agents` lists them")
    }),
  )
})

describe("commands for threads", () => {
  it.live("begin one, list it and delete it", () =>
    Effect.gen(function* () {
      const { agent, boss } = yield* start
      assert.include((yield* boss(threadsCommand)).stdout, "sealgate run --thread new")
      const made = yield* boss(threadsCommand, "create", "--agent", agent)
      const [id = ""] = made.stdout.split("\n")
      assert.include(made.stdout, `sealgate run --agent ${agent} --thread ${id}`)
      assert.include((yield* boss(threadsCommand)).stdout, id)
      assert.deepStrictEqual(JSON.parse((yield* boss(threadsCommand, "delete", id, "--json")).stdout), { id })
      assert.deepStrictEqual(JSON.parse((yield* boss(threadsCommand, "--json")).stdout), [])
      const gone = yield* boss(threadsCommand, "delete", id)
      assert.strictEqual(gone.code, 1)
      assert.include(gone.stderr, "`sealgate threads` lists them")
    }),
  )
})
