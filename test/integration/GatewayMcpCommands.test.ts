/** MCP servers that the gateway starts: the official SDK's server as a process. */
import { existsSync, readFileSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { execPath } from "node:process"
import { fileURLToPath } from "node:url"
import { assert, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { Job } from "../../src/domain/jobs/job.ts"
import { OperatorFileUnusable } from "../../src/layers/operatorFile.ts"
import { describeDatabases } from "../support/databases.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { call, databaseUrl, problemIn, startGateway, tokenFor } from "../support/gateway.ts"
import { temporaryFolder } from "../support/proxy.ts"

const SERVER = fileURLToPath(new URL("../support/stdioServer.ts", import.meta.url))

const decodeJob = Schema.decodeUnknownSync(Job)

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describeDatabases("an MCP server that is a command of the operator", (database) => {
  const setup = Effect.gen(function* () {
    const folder = yield* temporaryFolder
    const pids = join(folder, "pids")
    const file = join(folder, "commands.json")
    const commands = [
      { name: "lib", command: execPath, args: [SERVER, "one arg"], env: { PIDS: pids, GREETING: "hi" } },
      { name: "none", command: "/nonexistent/server" },
    ]
    yield* Effect.promise(() => writeFile(file, JSON.stringify({ commands }), { mode: 0o600 }))
    const upstream = yield* FakeUpstream.make()
    const environment = { MCP_COMMANDS_FILE: file, JOB_RETRY_FOR: "0" }
    const gateway = yield* startGateway(yield* databaseUrl(database), environment, upstream)
    const agent = Effect.fnUntraced(function* (server: object, subject: string) {
      const body = { name: "a", default_mode: "direct", mcp_servers: [server] }
      return yield* call(gateway, "POST", "/api/v1/agents", { token: yield* tokenFor(subject), body })
    })
    const work = Effect.fnUntraced(function* (server: object, subject = "alice") {
      const token = yield* tokenFor(subject)
      const { json: made } = yield* agent(server, subject)
      const task = { token, body: { task: "Look." } }
      const { json: job } = yield* call(gateway, "POST", `/api/v1/agents/${made["id"]}/execute`, task)
      return decodeJob((yield* call(gateway, "GET", `/api/v1/jobs/${job["id"]}?wait=60`, { token })).json)
    })
    const processes = () => readFileSync(pids, "utf8").trim().split("\n").map(Number)
    return { agent, upstream, work, processes }
  })

  it.live("runs with the given environment and folder, in a new process for every call", () =>
    Effect.gen(function* () {
      const { processes, upstream, work } = yield* setup
      const looks = { toolCalls: [{ name: "lib__look", arguments: {} }] }
      const seen: Array<Readonly<Record<string, unknown>>> = []
      for (const subject of ["alice", "bob"]) {
        upstream.script(looks, { text: "Seen." })
        const job = yield* work({ name: "lib", command: "lib" }, subject)
        assert.deepInclude(job.result, { answer: "Seen.", tool_calls: 1 })
        const look = JSON.parse(job.steps[2]?.tool?.output ?? "")
        const { cwd } = look
        assert.deepStrictEqual(look, {
          args: ["one arg"],
          calls: 1,
          cwd,
          env: { HOME: cwd, TMPDIR: cwd, PIDS: look.env.PIDS, GREETING: "hi" },
          files: [],
          key: `${job.id}/tool-1-1`,
        })
        assert.isFalse(existsSync(cwd))
        seen.push(look)
      }
      assert.notStrictEqual(seen[0]?.["cwd"], seen[1]?.["cwd"])
      // A list and a call for each job.
      assert.lengthOf(processes(), 4)
      assert.deepStrictEqual(processes().filter(isAlive), [])
    }),
  )

  it.live("is stopped if it floods, hangs or crashes, and the model reads the reason", () =>
    Effect.gen(function* () {
      const { processes, upstream, work } = yield* setup
      for (const [tool, why] of [
        ["flood", "sent more than 1048576 bytes"],
        ["hang", "gave no whole answer within 8 s"],
        ["crash", "broke off. The call may have been carried out."],
      ] as const) {
        upstream.script({ toolCalls: [{ name: `lib__${tool}`, arguments: {} }] }, { text: "Noted." })
        const job = yield* work({ name: "lib", command: "lib", timeout_seconds: tool === "hang" ? 8 : 60 })
        assert.deepInclude(job.result, { answer: "Noted." })
        assert.isTrue(job.steps[2]?.tool?.is_error, JSON.stringify(job.steps[2]))
        assert.include(job.steps[2]?.tool?.output, why)
      }
      assert.deepStrictEqual(processes().filter(isAlive), [])
    }),
  )

  it.live("fails its job if the operator does not list it, or if it does not start", () =>
    Effect.gen(function* () {
      const { agent, work } = yield* setup
      const unlisted = yield* work({ name: "x", command: "bash" })
      assert.deepInclude(unlisted.problem, { code: "tools-unavailable", retryable: false })
      assert.include(unlisted.problem?.detail, "The operator lists no command of this name")
      const absent = yield* work({ name: "x", command: "none" })
      assert.deepInclude(absent.problem, { code: "tools-unavailable" })
      for (const server of [
        { name: "x", command: "/bin/sh" },
        { name: "x", command: "lib", url: "https://example.com" },
        { name: "x", command: "lib", args: ["-c"] },
        { name: "x" },
      ]) {
        assert.strictEqual(problemIn(yield* agent(server, "alice")).code, "invalid-request", JSON.stringify(server))
      }
    }),
  )

  it.live("stops the gateway from starting if the file cannot be used", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const url = yield* databaseUrl(database)
      const open = { commands: [] }
      for (const [content, mode, says] of [
        [open, 0o644, "readable or writable by others"],
        ["no JSON", 0o600, "cannot be used"],
        [{ commands: [{ name: "a", command: "npx" }] }, 0o600, "absolute path"],
        [
          {
            commands: [
              { name: "a", command: "/a" },
              { name: "a", command: "/b" },
            ],
          },
          0o600,
          "same name",
        ],
        [{ commands: [{ name: "a", command: "/a", env: { "A=B": "c" } }] }, 0o600, "names of environment variables"],
      ] as const) {
        const file = join(folder, `${says.replaceAll(" ", "-")}.json`)
        const text = typeof content === "string" ? content : JSON.stringify(content)
        yield* Effect.promise(() => writeFile(file, text, { mode }))
        const exit = yield* Effect.exit(startGateway(url, { MCP_COMMANDS_FILE: file }))
        assert.isTrue(Exit.isFailure(exit))
        const [error] = Exit.isFailure(exit) ? exit.cause.reasons : []
        const failure = error !== undefined && "error" in error ? error.error : undefined
        assert.instanceOf(failure, OperatorFileUnusable)
        assert.include(failure.message, `MCP_COMMANDS_FILE: ${file}`)
        assert.include(failure.message, says)
      }
    }),
  )
})
