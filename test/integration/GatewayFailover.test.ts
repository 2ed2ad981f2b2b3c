/**
 * The faults of https://github.com/failoverbench/failoverbench (methodology 0.1) through the gateway's Chat Completions: a model that
 * fails in one way each, and one of the same name that is well. `FailoverScenarios.test.ts` has them for the fault policy alone.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { APIError } from "openai"
import { ask, ROUTING, startCalls } from "../support/calls.ts"
import { sqlite } from "../support/databases.ts"
import { type Answer, type Delivery, fault, type Reply } from "../support/FakeUpstream.ts"

const WELL = "from the second"
const ANSWER: Answer = { text: ["from ", "the ", "first"] }
const FIRST = "from the first"
const RETRIES = 2
// Much longer than an immediate answer takes, even on a busy machine.
const LATE_MS = 1000
const SLOW_MS = 2000

const slow = (delivery: Delivery): Answer => ({ ...ANSWER, delivery })
const broken = (how: "cut" | "end" | "silence" | "garbage" | "reset", after = 1): Answer => ({
  ...ANSWER,
  delivery: { breaks: { after, how } },
})
const filtered = fault.status(400, { body: { error: { message: "No.", code: "content_policy_violation" } } })

/** An answer, or the code of an error. */
type End = string
const INTERRUPTED: End = "upstream-interrupted"

/** A behaviour of the first model, the ends of whole and streamed answers, and the most requests that it gets. */
interface Kind {
  /** Fails once and works from then on. */
  readonly once?: Reply
  readonly always?: Reply
  readonly whole: End
  readonly streamed: End
  readonly asked: number
}

const ends = (whole: End, streamed: End = whole) => ({ whole, streamed })

// Providers send the head of a whole answer with its end, so it may take longer than the first token of a stream.
const KINDS: ReadonlyArray<readonly [name: string, kind: Kind]> = [
  ["answers 429 with Retry-After once", { once: fault.rateLimited({ retryAfter: 1 }), ...ends(FIRST), asked: 2 }],
  ["answers 429 each time", { always: fault.rateLimited(), ...ends(WELL), asked: 1 + RETRIES }],
  ["answers 500 once", { once: fault.serverError(), ...ends(FIRST), asked: 2 }],
  ["answers 503 each time", { always: fault.overloaded(), ...ends(WELL), asked: 1 + RETRIES }],
  ["resets its connection once", { once: fault.reset, ...ends(FIRST), asked: 2 }],
  ["never answers", { always: fault.silence, ...ends(WELL), asked: 1 }],
  ["has a late first token", { always: slow({ firstChunkAfter: SLOW_MS }), ...ends(FIRST, WELL), asked: 1 }],
  ["has a late head", { always: slow({ headersAfter: SLOW_MS }), ...ends(FIRST, WELL), asked: 1 }],
  ["cuts its answers", { always: broken("cut"), ...ends(WELL, INTERRUPTED), asked: 1 + RETRIES }],
  ["ends its answers early", { always: broken("end"), ...ends(WELL, INTERRUPTED), asked: 1 + RETRIES }],
  ["stalls within its answers", { always: broken("silence"), ...ends(WELL, INTERRUPTED), asked: 1 }],
  ["sends garbage", { always: broken("garbage"), ...ends(WELL, INTERRUPTED), asked: 1 }],
  ["omits the last event", { always: slow({ sentinel: "missing" }), ...ends(FIRST), asked: 1 }],
  ["has too small a context", { always: fault.contextTooLong(), ...ends(WELL), asked: 1 }],
  ["filters the content", { always: filtered, ...ends("content_policy_violation"), asked: 1 }],
]

const start = Effect.fnUntraced(function* (budgets?: ReadonlyArray<object>) {
  const calls = yield* startCalls(
    sqlite,
    { UPSTREAM_ANSWER_TIMEOUT: "4s" },
    {
      // The second model's context is longer.
      targets: ROUTING.targets.map((target) =>
        target.model === "model-2" ? { ...target, max_context_tokens: 200_000 } : target,
      ),
      retry: { max_retries: RETRIES, base_delay_ms: 1, max_delay_ms: 2000 },
      timeouts: { first_token_ms: LATE_MS, idle_ms: LATE_MS, total_ms: 20_000 },
    },
  )
  return { ...calls, client: calls.openai(yield* calls.makeKey(budgets === undefined ? {} : { budgets })) }
})

const codeOf = (error: unknown): string => {
  if (error instanceof APIError) return String(error.code)
  throw error
}

describe.each([
  ["a chat completion", undefined],
  ["a chat completion on a budget", [{ per: "month", max_cost_micro_usd: 100_000_000 }]],
] as const)("%s whose first model", (_, budgets) => {
  for (const [name, { always, asked, once, streamed, whole }] of KINDS) {
    it.live(`${name} ends with ${whole === streamed ? whole : `${whole}, streamed ${streamed}`}`, () =>
      Effect.gen(function* () {
        const { client, fake } = yield* start(budgets)
        const askWhole = async () => {
          const { choices } = await client.chat.completions.create(ask("Hi", "fast"))
          return choices[0]?.message.content ?? ""
        }
        const askStream = async () => {
          const chunks = await Array.fromAsync(
            await client.chat.completions.create({ ...ask("Hello", "fast"), stream: true }),
          )
          return chunks.map(({ choices }) => choices[0]?.delta.content ?? "").join("")
        }
        for (const [answer, expected] of [
          [askWhole, whole],
          [askStream, streamed],
        ] as const) {
          fake.clear()
          const first = fake.when({ model: "model-1" })
          if (once !== undefined) first.script(once)
          first.always(always ?? ANSWER)
          fake.when({ model: "model-2" }).always({ text: WELL })
          assert.strictEqual(yield* Effect.promise(() => answer().catch(codeOf)), expected)
          const requestsOf = (model: string) => fake.requests.filter(({ asked }) => asked?.model === model).length
          assert.isAtMost(requestsOf("model-1"), asked)
          assert.strictEqual(requestsOf("model-2"), expected === WELL ? 1 : 0)
        }
      }),
    )
  }
})
