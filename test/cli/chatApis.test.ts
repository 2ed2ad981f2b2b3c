/** `sealgate chat --api`: APIs other than Chat Completions, cached tokens in the output, and the evidence of an answer. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { chatCommand } from "../../src/cli/chatCommand.ts"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { tokensText } from "../../src/cli/tokensText.ts"
import { run } from "../support/cli.ts"
import { claudeMessage, GPT_USAGE, gptResponse, numbered } from "../support/nativeAnswers.ts"
import { namedEvents } from "../support/nativeUpstream.ts"
import { nativeSetup } from "../support/nativeSetup.ts"
import { temporaryFolder } from "../support/proxy.ts"

const message = claudeMessage({
  usage: { input_tokens: 36, cache_read_input_tokens: 800, cache_creation_input_tokens: 64, output_tokens: 1 },
})
const said = {
  type: "message",
  id: "msg_1",
  role: "assistant",
  content: [{ type: "output_text", text: "Seals swim." }],
}
const delta = { type: "response.output_text.delta", item_id: "msg_1", output_index: 0, content_index: 0 }

const STREAMS = {
  messages: namedEvents(
    { type: "message_start", message },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Seals " } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "swim." } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, usage: { output_tokens: 20 } },
    { type: "message_stop" },
  ),
  responses: namedEvents(
    ...numbered(
      { type: "response.created", response: gptResponse("in_progress") },
      { ...delta, delta: "Seals " },
      { ...delta, delta: "swim." },
      {
        type: "response.completed",
        response: gptResponse("completed", {
          output: [said],
          usage: { ...GPT_USAGE, input_tokens_details: { cached_tokens: 800, cache_write_tokens: 64 } },
        }),
      },
    ),
  ),
}

describe("sealgate chat over another API", () => {
  it.live.each(["messages", "responses"] as const)("asks over %s, and verify proves the answer", (api) =>
    Effect.gen(function* () {
      const { native, proxy } = yield* nativeSetup()
      native.answer(() => ({ body: STREAMS[api] }))
      const trust = ["--proxy", proxy.url, "--pin", proxy.kid]
      const asked = ["--api", api, "--system", "Be brief.", "--model", "some-model", "What do seals do?"]
      const shown = yield* run(chatCommand, [...trust, ...asked])
      assert.strictEqual(shown.code, 0, shown.stderr)
      assert.strictEqual(shown.stdout, "Seals swim.")
      assert.include(shown.stderr, "900 tokens in (800 from the cache, 64 into it), 20 out")
      const body = JSON.parse(native.requests[0]?.body ?? "")
      const turns = [{ role: "user", content: "What do seals do?" }]
      assert.deepInclude(
        body,
        api === "messages" ? { system: "Be brief.", messages: turns } : { instructions: "Be brief.", input: turns },
      )

      const kept = yield* run(chatCommand, [...trust, "--json", ...asked])
      const file = join(yield* temporaryFolder, "answer.json")
      writeFileSync(file, kept.stdout)
      const verified = yield* run(verifyCommand, [file, "--pin", proxy.kid])
      assert.strictEqual(verified.code, 0, verified.stderr)
      assert.include(verified.stdout, 'answered  "Seals swim."')
      assert.include(verified.stdout, "It used 900 tokens in (800 from the cache, 64 into it), 20 out.")
    }),
  )

  it.live("reports which providers speak an API if the requested provider does not", () =>
    Effect.gen(function* () {
      const { native, proxy } = yield* nativeSetup()
      const trust = ["--proxy", proxy.url, "--pin", proxy.kid]
      const refused = yield* run(chatCommand, [...trust, "--api", "messages", "--provider", "provider1", "Hi"])
      assert.strictEqual(refused.code, 1)
      assert.include(refused.stderr, "provider3")
      assert.strictEqual(native.requests.length, 0)
    }),
  )
})

it("tokensText shows counts that are no numbers", () => {
  assert.strictEqual(
    tokensText({ prompt_tokens: { toString: 1 }, completion_tokens: null }),
    '{"toString":1} tokens in, null out',
  )
})

it("tokensText uses the singular for one token", () => {
  assert.strictEqual(tokensText({ prompt_tokens: 1, completion_tokens: 2 }), "1 token in, 2 out")
})
