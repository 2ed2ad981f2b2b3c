/** Text that others wrote (servers, models, files) in the output of commands. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { text } from "node:stream/consumers"
import { assert, describe, it } from "@effect/vitest"
import { ConfigProvider, Effect } from "effect"
import { Command } from "effect/cli"
import { chatCommand } from "../../src/cli/chatCommand.ts"
import { unusable } from "../../src/cli/CommandFailed.ts"
import { doctorCommand } from "../../src/cli/doctorCommand.ts"
import { agentsCommand } from "../../src/cli/gateway/agentsCommand.ts"
import { jobsCommand } from "../../src/cli/gateway/jobsCommand.ts"
import { keysCommand } from "../../src/cli/gateway/keys/keysCommand.ts"
import { statsCommand } from "../../src/cli/gateway/statsCommand.ts"
import { report } from "../../src/cli/gateway/report.ts"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import type { Job } from "../../src/client/gateway/GatewayJobs.ts"
import { makeProblem } from "../../src/domain/problems/problem.ts"
import { METHOD } from "../../src/domain/routing/savings.ts"
import { SOFTWARE } from "../../src/domain/operations/software.ts"
import { answering } from "../support/answering.ts"
import { run } from "../support/cli.ts"
import { databaseUrl, startGateway, tokenFor } from "../support/gateway.ts"
import * as Processes from "../support/processes.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

const VERSION = SOFTWARE.slice(SOFTWARE.indexOf("/") + 1)
/** Sets the clipboard, then the colour, then passes for another line and another column. */
const HOSTILE = "\u001b]52;c;ZXZpbA==\u0007\u009b31m\u007fone\n✓ two\tthree"
/** How it is shown within a line. */
const TAMED = "]52;c;ZXZpbA==31mone ✓ two three"

const assertNoControls = (shown: string) =>
  // oxlint-disable-next-line no-control-regex -- those are what this is about
  assert.notMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)

const assertOneLine = (shown: string) => {
  assertNoControls(shown)
  assert.notMatch(shown, /^✓ two/m)
}

const assertTame = (shown: string) => {
  assertOneLine(shown)
  assert.include(shown, TAMED)
}

/** Headers of the connection and the length, which are not passed on. */
const OWN = new Set(["host", "connection", "keep-alive", "transfer-encoding", "content-length", "content-encoding"])

const passedOn = (headers: Iterable<readonly [string, unknown]>): Record<string, string> =>
  Object.fromEntries([...headers].flatMap(([name, value]) => (OWN.has(name) ? [] : [[name, String(value)]])))

/** A server like the one at `url`, but with hostile text in the place of some words of its answers. */
const hostile = (url: string, ...words: ReadonlyArray<string>) => {
  const evil = JSON.stringify(HOSTILE).slice(1, -1)
  return answering(async (response, request) => {
    const body = await text(request)
    const answer = await fetch(new URL(request.url ?? "/", url), {
      method: request.method ?? "GET",
      headers: passedOn(Object.entries(request.headers)),
      ...(body === "" ? {} : { body }),
    })
    const whole = await answer.text()
    response.writeHead(answer.status, passedOn(answer.headers))
    response.end(words.reduce((told, word) => told.replaceAll(word, evil), whole))
  })
}

const JOB: Omit<Job, "status"> = {
  id: "01a1fc17-d79c-7432-92db-922d1cc077c2",
  agent_id: "01a1fc17-d79c-7432-92db-922d1cc077c2",
  agent_version: 1,
  mode: "verified",
  priority: "normal",
  attempt: 1,
  task: "Is 391 a prime?",
  options: {},
  usage: { input_tokens: 1, output_tokens: 1, cached_tokens: 0, calls: 1 },
  cost_micro_usd: null,
  steps: [],
  created_at: "2026-01-01T00:00:00.000Z",
  expires_at: "2026-02-01T00:00:00.000Z",
  trace_id: "",
  metadata: {},
}

describe("text of a gateway", () => {
  it.live("cannot control the terminal, break its line or imitate another cell", () =>
    Effect.gen(function* () {
      const { url } = yield* startGateway(yield* databaseUrl({ kind: "sqlite" }))
      const gateway = yield* hostile(url, "command-line", "echo-1", "EVIL", "There is no such job.", METHOD, "sgk_")
      const env = { SEALGATE_TOKEN: yield* tokenFor("alice", { roles: ["admin"] }) }
      const told = Effect.fnUntraced(function* <const Name extends string, Input, Context, E>(
        command: Command.Command<Name, Input, Context, E, Command.Environment>,
        ...args: ReadonlyArray<string>
      ) {
        return yield* run(command, [...args, "--gateway", gateway]).pipe(
          Effect.provideService(ConfigProvider.ConfigProvider, ConfigProvider.fromEnv({ env })),
        )
      })

      const job = yield* Processes.run(["run", "EVIL", "--gateway", gateway], { env })
      assert.strictEqual(yield* Effect.promise(() => job.exit), 0, job.stderr.join("\n"))
      const [first = "", ...steps] = job.stderr
      assert.match(first, /^job [\w-]+: at most \d+ calls and [$\w. ]+$/)
      assert.isNotEmpty(steps)
      for (const step of steps) {
        assertTame(step)
        assert.match(step, /^[\w: ]+ by | is working · \d+s$/)
      }
      // An answer may have lines, but nothing else.
      assertNoControls(job.stdout.join("\n"))
      assert.include(job.stdout.join("\n"), "]52;c;ZXZpbA==31mone\n✓ two\tthree\n")

      const agents = yield* told(agentsCommand)
      assertTame(agents.stdout)
      assert.strictEqual(agents.stdout.split("\n").length, 2)

      const key = yield* told(keysCommand, "create", "ci")
      assert.strictEqual(key.code, 0, key.stderr)
      assertTame(key.stdout)

      const refused = yield* told(jobsCommand, "show", "01a1fc17-d79c-7432-92db-922d1cc077c2")
      assert.strictEqual(refused.code, 1)
      assertTame(refused.stderr)

      const json = yield* told(agentsCommand, "--json")
      assertNoControls(json.stdout)
      assert.include(
        (JSON.parse(json.stdout) as ReadonlyArray<{ name: string }>).map(({ name }) => name),
        HOSTILE,
      )

      const stats = yield* told(statsCommand)
      assert.strictEqual(stats.code, 0, stats.stderr)
      assertNoControls(stats.stdout)
      assert.include(stats.stdout, "]52;c;ZXZpbA==31mone ✓ two three")
    }),
  )

  it("stays within its line in a report", () => {
    const result: Job["result"] = {
      mode: "verified",
      answer: "391 = 17 · 23",
      verdict: "verified",
      confidence: 0.9,
      independent: true,
      agreement: 1,
      answers: [],
      checks: [],
      note: HOSTILE,
    }
    assertTame(report({ ...JOB, status: "completed", result }))
    assertTame(report({ ...JOB, status: "failed", problem: makeProblem({ code: "x", status: 500, title: HOSTILE }) }))
  })
})

describe("text of a proxy", () => {
  it.live("cannot forge a finding of the doctor", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const proxy = yield* hostile(url, VERSION)
      const { stdout } = yield* run(doctorCommand, ["--proxy", proxy, "--pin", kid])
      assertTame(stdout)
    }),
  )

  it.live("cannot control the terminal through signed statements", () =>
    Effect.gen(function* () {
      const { proxy } = yield* sealedSetup()
      const args = ["--proxy", proxy.url, "--pin", proxy.kid, "--model", HOSTILE]
      const said = yield* run(chatCommand, [...args, "Hello"])
      assertTame(said.stderr)
      const { stdout } = yield* run(chatCommand, [...args, "--json", "Hello"])
      const file = join(yield* temporaryFolder, "answer.json")
      writeFileSync(file, stdout)
      const verified = yield* run(verifyCommand, [file, "--pin", proxy.kid])
      assert.strictEqual(verified.code, 0, verified.stderr)
      assertTame(verified.stdout)
    }),
  )
})

describe("text of a file", () => {
  it.live("cannot imitate the output of `verify`", () =>
    Effect.gen(function* () {
      const part = (value: object) => encodeBase64Url(utf8(JSON.stringify(value)))
      const header = part({ alg: "Ed25519", typ: "sealgate-receipt+jwt", kid: HOSTILE })
      const file = join(yield* temporaryFolder, "receipt.txt")
      writeFileSync(file, `${header}.${part({})}.${encodeBase64Url(new Uint8Array(64))}`)
      for (const trust of [["--pin", "A".repeat(43)], []]) {
        const { code, stderr, stdout } = yield* run(verifyCommand, [file, ...trust])
        assert.notStrictEqual(code, 0)
        assert.notStrictEqual(stdout + stderr, "")
        assertOneLine(stdout)
        assertOneLine(stderr)
      }
    }),
  )
})

describe("text of a failure", () => {
  it.live("has no control characters, even in quotations", () =>
    Effect.gen(function* () {
      for (const [failing, says] of [
        [Effect.fail(unusable(HOSTILE)), "]52;c;ZXZpbA==31mone"],
        // Words that are not this program's are not quoted at all.
        [Effect.die(new Error(HOSTILE)), "This is a bug in sealgate"],
      ] as const) {
        const { stderr } = yield* run(
          Command.make("fail", {}, () => failing),
          [],
        )
        assertNoControls(stderr)
        assert.include(stderr, says)
      }
    }),
  )
})
