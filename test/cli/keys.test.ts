/** The commands for keys and the audit trail of a gateway. */
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import type { Command } from "effect/cli"
import { auditCommand } from "../../src/cli/gateway/auditCommand.ts"
import { jobsCommand } from "../../src/cli/gateway/jobsCommand.ts"
import { keysCommand } from "../../src/cli/gateway/keys/keysCommand.ts"
import { runCommand } from "../../src/cli/gateway/runCommand.ts"
import { run } from "../support/cli.ts"
import { call, databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"

const start = Effect.gen(function* () {
  const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
  const as =
    (token: string) =>
    <const Name extends string, Input, Context, E>(
      command: Command.Command<Name, Input, Context, E, Command.Environment>,
      ...args: ReadonlyArray<string>
    ) =>
      run(command, [...args, "--gateway", url]).pipe(
        Effect.provideService(
          ConfigProvider.ConfigProvider,
          ConfigProvider.fromEnv({ env: { SEALGATE_TOKEN: token } }),
        ),
      )
  const boss = as(yield* tokenFor("boss", { tenant: "acme", roles: ["admin"] }))
  const { json: agent } = yield* call({ url }, "POST", "/api/v1/agents", {
    token: yield* tokenFor("boss", { tenant: "acme", roles: ["manage"] }),
    body: { name: "reviewer" },
  })
  return { as, boss, agent: String(agent["id"]) }
})

type Members = Readonly<Record<string, unknown>>
const parse = (text: string): Members => JSON.parse(text) as Members

describe("commands for keys", () => {
  it.live("create a key whose secret is alone on standard output, and list, change and revoke it", () =>
    Effect.gen(function* () {
      const { as, boss } = yield* start
      assert.include((yield* boss(keysCommand)).stdout, "No keys yet")
      const made = yield* boss(keysCommand, "create", "ci", "--budget", "5usd/day", "--budget", "100tokens/day")
      assert.match(made.stdout, /^sgk_[\w-]{49}$/)
      assert.include(made.stderr, "only this once")
      assert.notInclude(made.stderr, made.stdout)
      const holder = as(made.stdout)
      assert.strictEqual((yield* holder(jobsCommand)).code, 0)
      const mayNotCreate = yield* holder(runCommand, "Hello")
      assert.strictEqual(mayNotCreate.code, 1)
      assert.include(mayNotCreate.stderr, "ask a manager to run: sealgate agents create command-line")

      const listed = yield* boss(keysCommand)
      assert.include(listed.stdout, "$5.00 and 100 tokens per day")
      assert.notInclude(listed.stdout, made.stdout)
      const [id = ""] = /[0-9a-f-]{36}/.exec(listed.stdout) ?? []
      assert.include(made.stderr, id)
      const shown = yield* boss(keysCommand, "show", id)
      assert.include(
        shown.stdout,
        "$0.00 and 0 tokens spent, $5.00 and 100 tokens left of $5.00 and 100 tokens per day",
      )
      assert.match(shown.stdout, /roles +run\n/)
      assert.match(shown.stdout, /expires +never\n/)
      const changed = yield* boss(
        keysCommand,
        "change",
        id,
        "--name",
        "CI",
        "--remove",
        "budgets",
        "--ttl",
        "1h",
        "--json",
      )
      assert.deepInclude(parse(changed.stdout), { id, name: "CI" })
      assert.notProperty(parse(changed.stdout), "budgets")
      assert.property(parse(changed.stdout), "expires_at")

      const refused = yield* holder(keysCommand)
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, 'This needs the role "manage"')
      assert.strictEqual((yield* boss(keysCommand, "revoke", id)).stdout, `Revoked ${id}.`)
      const revoked = yield* holder(jobsCommand)
      assert.strictEqual(revoked.code, 1)
      const again = yield* boss(keysCommand, "revoke", id)
      assert.strictEqual(again.code, 1)
      assert.include(again.stderr, "There is no such key.")

      const trail = yield* boss(auditCommand)
      assert.match(trail.stdout, new RegExp(`acme +boss +key.revoke +${id}`))
      assert.strictEqual(JSON.parse((yield* boss(auditCommand, "--json", "--limit", "3")).stdout).length, 3)
      assert.strictEqual((yield* holder(auditCommand)).code, 1)
    }),
  )

  it.live("send every limit", () =>
    Effect.gen(function* () {
      const { agent, boss } = yield* start
      const flags =
        "--role read --allow-model *mini* --deny-model x --deny-model y --requests-per-minute 60 --weight 3 --max-running-jobs 2 --max-calls-in-flight 4 --budget 0.5usd/total"
      const made = yield* boss(keysCommand, "create", "k", ...flags.split(" "), "--agent", agent, "--json")
      assert.deepInclude(parse(made.stdout), {
        roles: ["read"],
        models: { allow: ["*mini*"], deny: ["x", "y"] },
        agents: [agent],
        requests_per_minute: 60,
        weight: 3,
        max_running_jobs: 2,
        max_calls_in_flight: 4,
        budgets: [{ per: "total", max_cost_micro_usd: 500_000 }],
      })
      assert.property(parse(made.stdout), "key")
      const id = String(parse(made.stdout)["id"])
      const shown = yield* boss(keysCommand, "change", id, "--max-running-jobs", "5", "--remove", "calls")
      assert.match(shown.stdout, /jobs +at most 5 at once\n/)
      assert.match(shown.stdout, /calls +the tenant's\n/)
    }),
  )

  it.live("explain wrong limits with exit code 2", () =>
    Effect.gen(function* () {
      const { boss } = yield* start
      for (const [args, says] of [
        [["create", "k", "--budget", "5/day"], "such as 5usd/day"],
        [["create", "k", "--budget", "0usd/day"], "above zero"],
        [["create", "k", "--budget", "1.5tokens/day"], "such as 5usd/day"],
        [["create", "k", "--budget", "5usd/week"], "hour, day, month or total"],
        [["create", "k", "--budget", "5usd/day", "--budget", "6usd/day"], "limits the same per day twice"],
        [["create", "line\nbreak"], "control characters"],
        [["create", "k", "--ttl", "soon"], "a duration"],
        [["create", "k", "--agent", "reviewer"], "--agent"],
        [["change", "x"], "Nothing to change"],
        [["change", "x", "--remove", "expiry", "--ttl", "1h"], "--remove expiry contradicts"],
      ] as const) {
        const { code, stderr } = yield* boss(keysCommand, ...args)
        assert.strictEqual(code, 2, `${args.join(" ")}: ${stderr}`)
        assert.include(stderr, says)
      }
      const manages = yield* boss(keysCommand, "create", "k", "--role", "manage", "--budget", "5usd/day")
      assert.strictEqual(manages.code, 1)
      assert.include(manages.stderr, "must be read or run")
    }),
  )
})
