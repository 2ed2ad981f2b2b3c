/** Nobody on the path can take the post-quantum suite away: not for what is sealed now, nor for what was recorded. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { createSealedFetch, SealedClient, SealedProblem, Tampered, Unreachable } from "../../src/client/index.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { type SuiteName, SUITES, X25519 } from "../../src/domain/protocol/suites.ts"
import { startConnector } from "../support/connector.ts"
import { makeMiddleman, type PassOn, type Passing } from "../support/middleman.ts"
import { failureOf } from "../support/promises.ts"
import { startProxy } from "../support/proxy.ts"
import { INIT, jsonOf } from "../support/sealing.ts"

interface Init {
  readonly client_nonce: string
  readonly suites: ReadonlyArray<object>
}

const initOf = ({ body }: Passing): Init => JSON.parse(body) as Init
const only = JSON.stringify({ ...INIT, suites: [X25519.id] })

/** Changes how sessions begin, and passes everything else on. */
const atInit =
  (change: PassOn): PassOn =>
  (asked, onward) =>
    asked.path === "/v1/init" ? change(asked, onward) : onward(asked)

/** Attempts to make the client use X25519 alone, each of which it must report as tampering. */
const ATTACKS: Readonly<Record<string, PassOn>> = {
  "takes the suite out of what the client asks for": (asked, onward) => {
    const { suites, ...rest } = initOf(asked)
    return onward({ ...asked, body: JSON.stringify({ ...rest, suites: suites.slice(1) }) })
  },
  "puts the other suite first": (asked, onward) => {
    const { suites, ...rest } = initOf(asked)
    return onward({ ...asked, body: JSON.stringify({ ...rest, suites: suites.toReversed() }) })
  },
  "gives the suite an unknown number": (asked, onward) =>
    onward({ ...asked, body: asked.body.replace("25722", "25723") }),
  "hands out the offer of a session that it asked for itself": (asked, onward) => onward({ ...asked, body: only }),
  "puts the other suite, with a key of its own, into the offer": async (asked, onward) => {
    const { attestation } = await jsonOf(await onward(asked))
    const [header, claims = "", signature] = String(attestation).split(".")
    const mine = { suite: X25519.id, public_key: encodeBase64Url(new Uint8Array(32).fill(9)) }
    const changed = { ...(JSON.parse(Buffer.from(claims, "base64url").toString()) as object), ...mine }
    const statement = [header, encodeBase64Url(utf8(JSON.stringify(changed))), signature].join(".")
    return Response.json({ attestation: statement })
  },
}

describe("an attacker on the path who", () => {
  for (const [what, attack] of Object.entries(ATTACKS)) {
    it.live(`${what} is detected by client, drop-in fetch and connector, and nothing is sealed`, () =>
      Effect.gen(function* () {
        const proxy = yield* startProxy()
        const path = yield* makeMiddleman(proxy.url, atInit(attack))
        const options = { baseUrl: path.url, pins: [proxy.kid] }
        const connector = yield* startConnector({ sealed: options })
        const completion = {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ model: "m", messages: [{ role: "user", content: "hello" }] }),
        }
        yield* Effect.promise(async () => {
          const client = new SealedClient(options)
          assert.instanceOf(await failureOf(client.complete({ prompt: "hello" })), Tampered)
          assert.instanceOf(await failureOf(client.stream({ prompt: "hello" })), Tampered)
          const dropIn = createSealedFetch(options)("http://sealed.invalid/v1/chat/completions", completion)
          assert.instanceOf(await failureOf(dropIn), Tampered)
          const answer = await fetch(`${connector.url}/v1/chat/completions`, completion)
          assert.strictEqual(answer.status, 502)
          assert.include(await answer.text(), '"code":"tampered"')
        })
        assert.isAbove(path.asked.length, 3)
        assert.isUndefined(path.asked.find(({ path }) => path === "/v1/completions"))
      }),
    )
  }

  const HINDRANCES: Readonly<Record<string, PassOn>> = {
    "says that there is no common suite": () =>
      Promise.resolve(
        Response.json(
          { type: "urn:sealgate:problem:no-common-suite", code: "no-common-suite", status: 400, title: "None." },
          { status: 400, headers: { "content-type": "application/problem+json" } },
        ),
      ),
    "answers with a page of its own": () => Promise.resolve(new Response("<html>", { status: 502 })),
    "breaks connections": () => Promise.reject(new Error("broken")),
  }
  for (const [what, hindrance] of Object.entries(HINDRANCES)) {
    it.live(`${what} cannot make a client offer a weaker suite`, () =>
      Effect.gen(function* () {
        const proxy = yield* startProxy()
        const path = yield* makeMiddleman(proxy.url, atInit(hindrance))
        const client = new SealedClient({ baseUrl: path.url, pins: [proxy.kid] })
        yield* Effect.promise(async () => {
          for (let i = 0; i < 3; i++) {
            const error = await failureOf(client.complete({ prompt: "hello" }))
            assert.isTrue(error instanceof SealedProblem || error instanceof Unreachable, String(error))
          }
        })
        const lists = path.asked.map((asked) => JSON.stringify(initOf(asked).suites))
        assert.isAtLeast(lists.length, 3)
        assert.deepStrictEqual([...new Set(lists)], [JSON.stringify(SUITES.map(({ id }) => id))])
      }),
    )
  }
})

it.live("a client that takes the post-quantum suite alone gets it from a proxy that has both", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    const suites: ReadonlyArray<SuiteName> = ["MLKEM768-X25519"]
    yield* Effect.promise(() => proxy.client({ suites }).complete({ prompt: "hello" }))
  }),
)
