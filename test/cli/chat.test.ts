/** `sealgate chat` against a proxy and a fake vendor. */
import { PassThrough } from "node:stream"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { explained } from "../../src/cli/chat/answerText.ts"
import { Conversation } from "../../src/cli/chat/Conversation.ts"
import { interactive } from "../../src/cli/chat/interactive.ts"
import { chatCommand } from "../../src/cli/chatCommand.ts"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { SealedProblem } from "../../src/client/errors.ts"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import { makeProblem } from "../../src/domain/problems/problem.ts"
import { run, sealgate } from "../support/cli.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { sealedSetup } from "../support/sealedSetup.ts"

describe("sealgate chat, once", () => {
  it.live("prints the answer to standard output and the verification to standard error", () =>
    Effect.gen(function* () {
      const { fake, proxy } = yield* sealedSetup()
      fake.always({ text: "Fine \u001b[2Jthanks", usage: { input: 3, output: 2 } })
      const trust = ["--proxy", proxy.url, "--pin", proxy.kid]
      const answer = yield* run(chatCommand, [...trust, "--system", "Be brief.", "--model", "model-7", "How are you?"])
      assert.strictEqual(answer.code, 0, answer.stderr)
      assert.include(answer.stdout, "Fine")
      assert.match(answer.stderr, /receipt and proof verified · provider1\/model-7 · 3 tokens in, 2 out/)
      const [{ asked } = { asked: undefined }] = fake.requests
      assert.deepStrictEqual([asked?.system, asked?.text, asked?.model], ["Be brief.", "How are you?", "model-7"])
    }),
  )

  it.live("reads the prompt from a pipe", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const answer = yield* sealgate(["chat", "--proxy", url, "--pin", kid], "Hello from a pipe")
      assert.strictEqual(answer.code, 0, answer.stderr)
      assert.strictEqual(answer.stdout.trim(), "Hello from a pipe")
      assert.include(answer.stderr, "verified")
    }),
  )

  it.live("prints JSON that `sealgate verify` accepts", () =>
    Effect.gen(function* () {
      const { kid, url } = yield* startProxy()
      const { stdout } = yield* run(chatCommand, ["--proxy", url, "--pin", kid, "--json", "Hello"])
      const file = join(yield* temporaryFolder, "answer.json")
      writeFileSync(file, stdout)
      const verified = yield* run(verifyCommand, [file, "--pin", kid, "--json"])
      assert.deepInclude(JSON.parse(verified.stdout), { valid: true, kind: "revealed exchange" })
    }),
  )
})

/** A chat at a terminal: `types` writes to it, `sees` waits for text on its screen. */
const chatting = Effect.fnUntraced(function* () {
  const { fake, proxy } = yield* sealedSetup()
  const client = new SealedClient({ baseUrl: proxy.url, pins: [proxy.kid] })
  const input = new PassThrough()
  const output = new PassThrough({ encoding: "utf8" })
  let screen = ""
  const watchers = new Set<() => void>()
  output.on("data", (piece: string) => {
    screen += piece
    for (const watcher of watchers) watcher()
  })
  const sees = (text: string) =>
    Effect.callback<void>((resume) => {
      const look = () => {
        const at = screen.indexOf(text)
        if (at < 0) return
        screen = screen.slice(at + text.length)
        watchers.delete(look)
        resume(Effect.void)
      }
      watchers.add(look)
      look()
    })
  const left = interactive(
    new Conversation(client, { api: "chat.completions" }),
    { input, output },
    new AbortController().signal,
  )
  return {
    fake,
    sees,
    types: (text: string) => Effect.sync(() => void input.write(text)),
    left: Effect.promise(() => left),
  }
})

describe("the message of a refusal", () => {
  const said = (code: string, status: number, sealed = true) =>
    explained(new SealedProblem(makeProblem({ code, status, title: "No.", trace_id: "4bf92f" }), sealed, undefined))

  it("names the trace only if the proxy logs such failures", () => {
    for (const code of ["internal", "upstream-unavailable", "upstream-unauthorized"]) {
      assert.strictEqual(said(code, 502), "No.\nThe proxy's log says why, for this trace or an earlier one: 4bf92f")
    }
    for (const code of ["draining", "invalid-request", "rate-limited"]) assert.strictEqual(said(code, 429), "No.")
  })

  it("asks for a credential only if the proxy itself refused the caller, under the seal", () => {
    assert.include(said("unauthorized", 401), "SEALGATE_CREDENTIAL")
    assert.strictEqual(said("unauthorized", 401, false), "No.")
  })

  it("names the command that lists what can be asked", () => {
    const hint = "No.\n`sealgate models` lists the providers and models."
    for (const code of ["provider-not-configured", "unknown-model"]) assert.strictEqual(said(code, 422), hint)
  })
})

describe("sealgate chat, at a terminal", () => {
  it.live("keeps the conversation, and leaves at Ctrl-D", () =>
    Effect.gen(function* () {
      const { fake, left, sees, types } = yield* chatting()
      fake.script({ text: "Hello Bob." }, { text: "You are Bob." })
      yield* types("I am Bob.\r")
      yield* sees("Hello Bob.")
      yield* sees("receipt and proof verified")
      yield* sees("> ")
      yield* types("Who am I?\r")
      yield* sees("You are Bob.")
      yield* sees("verified")
      assert.deepStrictEqual(
        fake.requests[1]?.asked?.turns.map(({ role, text }) => [role, text]),
        [
          ["user", "I am Bob."],
          ["assistant", "Hello Bob."],
          ["user", "Who am I?"],
        ],
      )
      yield* types("\u0004")
      yield* left
    }),
  )

  it.live("stops and forgets an answer at Ctrl-C, and leaves at a second Ctrl-C in a row", () =>
    Effect.gen(function* () {
      const { fake, left, sees, types } = yield* chatting()
      fake.script({ text: ["half ", "half"], delivery: { breaks: { after: 1, how: "silence" } } }, { text: "Again." })
      yield* types("First\r")
      yield* sees("half")
      yield* types("\u0003")
      yield* sees("forgotten")
      const { ended } = yield* Effect.promise(() => fake.received(1))
      assert.strictEqual(yield* Effect.promise(() => ended), "hung-up")
      yield* types("Second\r")
      yield* sees("Again.")
      yield* sees("verified")
      yield* sees("> ")
      assert.strictEqual(fake.requests[1]?.asked?.turns.length, 1)
      yield* types("\u0003")
      yield* sees("Ctrl-C again")
      yield* types("\u0003")
      yield* left
    }),
  )

  it.live("removes control characters from a model's answer", () =>
    Effect.gen(function* () {
      const { fake, left, sees, types } = yield* chatting()
      fake.always({ text: ["a\u001b[2Jb", "\u009b31mc\td"] })
      yield* types("Hi\r")
      yield* sees("a[2Jb31mc\td")
      yield* types("/exit\r")
      yield* left
    }),
  )

  it.live("reports failures and goes on", () =>
    Effect.gen(function* () {
      const { fake, left, sees, types } = yield* chatting()
      fake.script({ text: ["half ", "half"], delivery: { breaks: { after: 1, how: "cut" } } }, { text: "Better." })
      yield* types("First\r")
      yield* sees("✗ The provider failed")
      yield* types("Second\r")
      yield* sees("Better.")
      yield* types("/exit\r")
      yield* left
    }),
  )
})
