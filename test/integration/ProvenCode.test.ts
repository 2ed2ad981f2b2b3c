/** Clients with a policy, over sockets: nothing is sealed before the code behind the proxy's key is proven. */
import { afterEach, assert, describe, it, vi } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { EvidenceRefused, PinMismatch, type SealgateError } from "../../src/client/errors.ts"
import { policyOf } from "../../src/client/policy.ts"
import { createSealedFetch, type VerifiedAnswer } from "../../src/client/sdk/sealedFetch.ts"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import type { EvidencePolicy } from "../../src/attestation/policy.ts"
import { digestOfSoftware } from "../../src/layers/evidence/softwareDigest.ts"
import { SOFTWARE } from "../../src/domain/operations/software.ts"
import { provenSetup } from "../support/evidence/provenSetup.ts"
import { CHIP, MEASUREMENT, snpEntry } from "../support/evidence/machines.ts"
import { makeMiddleman, type Passing } from "../support/middleman.ts"
import { failing } from "../support/promises.ts"
import { startProxy } from "../support/proxy.ts"
import { makeRelay } from "../support/relay.ts"

const PROMPT = "purple elephants"
const OTHER_PIN = "A".repeat(43)

const ask = (client: SealedClient) => Effect.promise(() => client.complete({ prompt: PROMPT }))

// Every failure of the client is one.
const failure = (client: SealedClient) =>
  Effect.map(failing(client.complete({ prompt: PROMPT })), (error) => error as SealgateError)

const times = (text: string, part: string): number => text.split(part).length - 1

/** Checks that the request was refused for this reason, and that no sealed request crossed the wire. */
const refuses = Effect.fnUntraced(function* (reason: string, client: SealedClient, seen: () => string) {
  const error = yield* failure(client)
  assert.instanceOf(error, EvidenceRefused)
  assert.deepStrictEqual([error.reason, error.mayHaveBeenServed], [reason, false])
  assert.strictEqual(times(seen(), "/v1/completions"), 0)
})

/** `text` with one bit changed. */
const changed = (text: string): string => (text.startsWith("a") ? "b" : "a") + text.slice(1)

describe("a client with a policy", () => {
  it.live("seals without pins to a proxy whose code is proven, and returns the proof", () =>
    Effect.gen(function* () {
      const { client, fake, proxy } = yield* provenSetup()
      const sealed = client()
      const { code, receipt } = yield* ask(sealed)
      assert.strictEqual(receipt.iss, proxy.kid)
      assert.deepInclude(code, { kid: proxy.kid, measurement: MEASUREMENT, hardware: "AMD Genoa", chip: CHIP })
      const end = yield* Effect.promise(async () => {
        const stream = await sealed.stream({ prompt: PROMPT })
        await stream.text()
        return stream.end
      })
      assert.strictEqual(end.code?.kid, proxy.kid)
      assert.strictEqual(fake.requests.length, 2)
      assert.deepStrictEqual(sealed.pins, [])
    }),
  )

  it.live("asks for evidence once for many sessions", () =>
    Effect.gen(function* () {
      const { client, wire } = yield* provenSetup({ sessionMaxRequests: 1 })
      const sealed = client()
      for (let i = 0; i < 3; i++) yield* ask(sealed)
      assert.deepStrictEqual([times(wire.seen(), "/v1/init"), times(wire.seen(), "/v1/evidence")], [3, 1])
    }),
  )

  it.live("passes the proof to onVerified of a sealed fetch", () =>
    Effect.gen(function* () {
      const { policy, proxy, wire } = yield* provenSetup()
      const kids: Array<string | undefined> = []
      const onVerified = ({ code }: VerifiedAnswer) => void kids.push(code?.kid)
      const fetch = createSealedFetch({ baseUrl: wire.url, policy: policy(), pace: 0, onVerified })
      for (const stream of [false, true]) {
        const body = JSON.stringify({ messages: [{ role: "user", content: PROMPT }], stream })
        const path = "https://sealed.invalid/v1/chat/completions"
        const answer = yield* Effect.promise(async () => (await fetch(path, { method: "POST", body })).text())
        assert.include(answer, "ok")
      }
      assert.deepStrictEqual(kids, [proxy.kid, proxy.kid])
    }),
  )

  it.live("sends no prompt under a policy that has expired, or does not know the software", () =>
    Effect.gen(function* () {
      const { client, policy, rules, wire } = yield* provenSetup()
      yield* refuses("policy-expired", client({ policy: policy({ expires: 1 }) }), wire.seen)
      const software = [{ version: SOFTWARE, digest: changed(digestOfSoftware()) }]
      const configuration = { ...rules.configuration, software }
      yield* refuses("configuration-software", client({ policy: policy({ configuration }) }), wire.seen)
    }),
  )

  for (const [what, reason, settings] of [
    [
      "base URL of a slot",
      "configuration-provider",
      { provider1BaseUrl: new URL("https://api.openai.com.evil.example/v1") },
    ],
    ["pin of a slot", "configuration-provider", { provider1SealedPin: [OTHER_PIN] }],
    ["telemetry endpoint", "configuration-telemetry", { otlpEndpoint: new URL("https://otel.example") }],
    ["outgoing proxy", "configuration-proxy", { httpsProxy: Redacted.make("http://someone.example:3128") }],
  ] as const) {
    it.live(`sends no prompt to genuine code with another ${what}`, () =>
      Effect.gen(function* () {
        const { client, proxy, wire } = yield* provenSetup(settings)
        yield* refuses(reason, client(), wire.seen)
        yield* refuses(reason, client({ pins: [proxy.kid] }), wire.seen)
      }),
    )
  }

  it.live("sends no prompt to a chain of another root, or to a denied chip or key", () =>
    Effect.gen(function* () {
      const { client, machine, policy, proxy, rules, wire } = yield* provenSetup()
      yield* refuses("chain-root", client({ policy: policyOf(rules, { collateral: machine.source }) }), wire.seen)
      const deny = { chips: [CHIP], kids: [] }
      yield* refuses("chip-denied", client({ policy: policy({ deny }) }), wire.seen)
      yield* refuses("kid-denied", client({ policy: policy({ deny: { chips: [], kids: [proxy.kid] } }) }), wire.seen)
    }),
  )

  it.live("sends no prompt to a proxy without evidence mode, even if it is pinned", () =>
    Effect.gen(function* () {
      const { policy } = yield* provenSetup()
      const proxy = yield* startProxy()
      const wire = yield* makeRelay(proxy.port)
      const client = new SealedClient({ baseUrl: wire.url, pins: [proxy.kid], policy: policy() })
      yield* refuses("no-evidence", client, wire.seen)
    }),
  )

  it.live("refuses with pins too unless both pin and policy hold", () =>
    Effect.gen(function* () {
      const { client, policy, proxy, wire } = yield* provenSetup()
      assert.strictEqual((yield* ask(client({ pins: [OTHER_PIN, proxy.kid] }))).code?.kid, proxy.kid)
      const before = times(wire.seen(), "/v1/completions")
      assert.instanceOf(yield* failure(client({ pins: [OTHER_PIN] })), PinMismatch)
      const accept = [snpEntry(changed(MEASUREMENT))]
      assert.instanceOf(yield* failure(client({ pins: [proxy.kid], policy: policy({ accept }) })), EvidenceRefused)
      assert.strictEqual(times(wire.seen(), "/v1/completions"), before)
    }),
  )
})

describe("a client with a policy, with somebody on the path", () => {
  const relayed = Effect.fnUntraced(function* (
    change: (asked: Passing, other: string) => Promise<Response> | undefined,
  ) {
    const setup = yield* provenSetup()
    const other = yield* provenSetup({}, setup.machine, setup.fake)
    const man = yield* makeMiddleman(setup.proxy.url, (asked, onward) =>
      asked.path === "/v1/evidence" ? (change(asked, other.proxy.url) ?? onward(asked)) : onward(asked),
    )
    const client = () => setup.client({ baseUrl: man.url })
    return { ...setup, other, client, seen: () => man.asked.map(({ path }) => path).join("\n") }
  })
  const sendTo = (url: string, { body, method, path }: Passing) =>
    fetch(url + path, { method, body, headers: { "content-type": "application/json" } })

  it.live("refuses the evidence of another genuine machine", () =>
    Effect.gen(function* () {
      const { client, seen } = yield* relayed((asked, url) => sendTo(url, asked))
      yield* refuses("kid-differs", client(), seen)
    }),
  )

  it.live("refuses the evidence of another machine under this one's key", () =>
    Effect.gen(function* () {
      const kid: { current?: string } = {}
      const { client, proxy, seen } = yield* relayed(async (asked, url) => {
        const answer = await (await sendTo(url, asked)).json()
        return Response.json({ ...answer, kid: kid.current })
      })
      kid.current = proxy.kid
      yield* refuses("binding-differs", client(), seen)
    }),
  )

  it.live("refuses evidence that answered another client before", () =>
    Effect.gen(function* () {
      let first: string | undefined
      const { client, proxy, seen } = yield* relayed(() =>
        first === undefined ? undefined : Promise.resolve(new Response(first)),
      )
      const body = JSON.stringify({ nonce: OTHER_PIN })
      first = yield* Effect.promise(async () =>
        (await sendTo(proxy.url, { method: "POST", path: "/v1/evidence", body })).text(),
      )
      yield* refuses("binding-differs", client(), seen)
    }),
  )

  it.live("passes on an outage of evidence, and sends no prompt", () =>
    Effect.gen(function* () {
      const { client, seen } = yield* relayed(() => Promise.resolve(new Response("", { status: 503 })))
      assert.strictEqual((yield* failure(client())).code, "problem")
      assert.notInclude(seen(), "/v1/completions")
    }),
  )
})

describe("the time that evidence counts", () => {
  afterEach(() => void vi.useRealTimers())

  /** Completes twice, `seconds` apart. Returns the number of times that evidence was asked for. */
  const asked = Effect.fnUntraced(function* (seconds: number, changes: Partial<EvidencePolicy> = {}) {
    const { client, policy, wire } = yield* provenSetup()
    const sealed = client({ policy: policy(changes) })
    yield* ask(sealed)
    vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + seconds * 1000 })
    const error = yield* Effect.promise(() => sealed.complete({ prompt: PROMPT }).then(undefined, (error) => error))
    return {
      count: times(wire.seen(), "/v1/evidence"),
      error: error instanceof EvidenceRefused ? error.reason : undefined,
    }
  })

  it.live("is one hour", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* asked(3590)).count, 1)
      vi.useRealTimers()
      assert.strictEqual((yield* asked(3610)).count, 2)
    }),
  )

  it.live("ends with the policy", () =>
    Effect.gen(function* () {
      const expires = Math.floor(Date.now() / 1000) + 60
      assert.deepStrictEqual(yield* asked(61, { expires }), { count: 2, error: "policy-expired" })
    }),
  )
})
