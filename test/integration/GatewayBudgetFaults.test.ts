/** Concurrent calls within a budget while providers misbehave. */
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import type OpenAI from "openai"
import { ask, costOf, startCalls, until } from "../support/calls.ts"
import { describeDatabases } from "../support/databases.ts"
import { call } from "../support/gateway.ts"
import { type Fake, fault, type Reply } from "../support/FakeUpstream.ts"
import { layerStored } from "../support/storedBeside.ts"

const CALLS = 20
const AFFORDABLE = 4
const LIMIT = 50
/** A call's worst case: its estimated input, and the output that it asks for. */
const WORST = costOf(Math.ceil(JSON.stringify({ ...ask("Hi"), max_tokens: LIMIT, stream: true }).length / 3), LIMIT)

type Client = OpenAI
type How = (client: Client, fake: Fake) => Promise<unknown>

const whole: How = (client) => client.chat.completions.create({ ...ask("Hi"), max_tokens: LIMIT })
const streamed: How = async (client) => {
  const stream = await client.chat.completions.create({ ...ask("Hi"), max_tokens: LIMIT, stream: true })
  for await (const _ of stream);
}
/** Hangs up once the provider has all affordable calls. */
const cancelled: How = async (client, fake) => {
  const hangUp = new AbortController()
  void fake.received(AFFORDABLE).then(() => hangUp.abort())
  await client.chat.completions.create({ ...ask("Hi"), max_tokens: LIMIT }, { signal: hangUp.signal })
}
const hungUp: How = async (client) => {
  for await (const _ of await client.chat.completions.create({ ...ask("Hi"), max_tokens: LIMIT, stream: true })) break
}

const lie = (input: number, output: number): Reply => ({ text: "ok", usage: { input, output } })
const broken = (how: "cut" | "end" | "error" | "garbage" | "reset" | "silence", after = 1): Reply => ({
  text: ["one ", "two ", "three"],
  usage: null,
  delivery: { breaks: { after, how } },
})

/** Behaviours of a provider, the kind of call, and whether the reservation is charged. */
const KINDS: ReadonlyArray<readonly [name: string, reply: Reply, how: How, isCharged: boolean]> = [
  ["reports no usage", { text: "ok", usage: null }, whole, true],
  ["reports no usage at the end of a stream", { text: "ok", usage: null }, streamed, true],
  ["reports more tokens than an integer holds", lie(1e300, 1e300), whole, true],
  ["reports the largest counts", lie(1, Number.MAX_SAFE_INTEGER), whole, true],
  ["reports negative counts", lie(-5, -5), whole, true],
  ["reports fractions", lie(0.5, 0.5), streamed, true],
  ["does not answer in time", fault.silence, whole, true],
  ["cuts its whole answers", broken("cut"), whole, true],
  ["sends garbage in place of whole answers", broken("garbage"), whole, true],
  ["stops within a stream", broken("silence"), streamed, true],
  ["is cancelled before it answers", fault.silence, cancelled, true],
  ["is hung up on within a stream", broken("silence"), hungUp, true],
  ["cuts its streams", broken("cut"), streamed, true],
  ["resets its connections within streams", broken("reset"), streamed, true],
  ["ends its streams too early", broken("end"), streamed, true],
  ["sends an error within its streams", broken("error"), streamed, true],
  ["sends garbage within its streams", broken("garbage"), streamed, true],
  ["refuses all calls", fault.rateLimited(), whole, false],
]

const start = Effect.fnUntraced(function* (database: Parameters<typeof startCalls>[0]) {
  const calls = yield* startCalls(
    database,
    { UPSTREAM_ANSWER_TIMEOUT: "4s" },
    {
      timeouts: { first_token_ms: 1000, idle_ms: 1000, total_ms: 20_000 },
      retry: { max_retries: 2, base_delay_ms: 1, max_delay_ms: 1 },
    },
  )
  const { boss, gateway } = calls

  /** Makes a key worth the affordable calls. */
  const makeKey = Effect.fnUntraced(function* () {
    const budgets = [{ per: "total", max_cost_micro_usd: AFFORDABLE * WORST }]
    const { json } = yield* call(gateway, "POST", "/api/v1/keys", {
      token: boss,
      body: { name: "k", roles: ["run"], budgets },
    })
    const id = String(json["id"])
    const use = Effect.map(call(gateway, "GET", `/api/v1/budgets?key=${id}`, { token: boss }), ({ json }) => {
      const [budget] = json["items"] as ReadonlyArray<Readonly<Record<string, number>>> // The contract describes this shape.
      return { spent: budget?.["spent_micro_usd"] ?? 0, reserved: budget?.["reserved_micro_usd"] ?? 0 }
    })
    /** The sum of its charges in the ledger. */
    const entered = SqlClient.SqlClient.use(
      (sql) => sql<{ charged: number | null }>`SELECT CAST(SUM(charged_cost) AS BIGINT) AS charged
        FROM ledger_calls WHERE key_id = ${id}`,
    ).pipe(
      Effect.map(([row]) => row?.charged ?? 0),
      Effect.provide(layerStored(database, calls.stored)),
    )
    return { client: calls.openai(String(json["key"])), use, entered }
  })
  return { ...calls, makeKey }
})

const all = (client: Client, fake: Fake, how: How) =>
  Effect.forEach(Array.from({ length: CALLS }), () => Effect.result(Effect.tryPromise(() => how(client, fake))), {
    concurrency: "unbounded",
  })

describeDatabases("a budget under concurrent calls", (database) => {
  it.live("is never exceeded, whatever a provider does, and agrees with the ledger", () =>
    Effect.gen(function* () {
      const { fake, makeKey } = yield* start(database)
      for (const [name, reply, how, isCharged] of KINDS) {
        const { client, entered, use } = yield* makeKey()
        fake.clear()
        fake.always(reply)
        yield* all(client, fake, how)
        yield* until(Effect.map(use, ({ reserved }) => reserved === 0))
        const { spent } = yield* use
        assert.isAtMost(spent, AFFORDABLE * WORST, `a provider that ${name}`)
        assert.strictEqual(spent, yield* entered, `a provider that ${name}: the ledger and the budget differ`)
        if (isCharged) {
          assert.isAtMost(fake.requests.length, AFFORDABLE, `a provider that ${name}`)
          assert.isAbove(spent, 0, `a provider that ${name}`)
        } else assert.strictEqual(spent, 0, `a provider that ${name}`)
      }
    }),
  )

  it.live("ends with the calls in flight if a provider bills more than it was allowed", () =>
    Effect.gen(function* () {
      const { fake, makeKey } = yield* start(database)
      const { client, entered, use } = yield* makeKey()
      fake.always(lie(10, 1_000_000))
      yield* all(client, fake, whole)
      yield* all(client, fake, whole)
      assert.isAtMost(fake.requests.length, AFFORDABLE)
      const { spent } = yield* use
      assert.strictEqual(spent, fake.requests.length * costOf(10, 1_000_000))
      assert.strictEqual(spent, yield* entered)
    }),
  )
})
