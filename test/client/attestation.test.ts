/** A client with a policy at a proxy whose key has evidence of another configuration or another key. */
import { createHash } from "node:crypto"
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import { CodeProver } from "../../src/client/attestation/CodeProver.ts"
import { EvidenceRefused } from "../../src/client/errors.ts"
import type { Policy, ProvenCode } from "../../src/client/attestation/Policy.ts"
import { X25519 } from "../../src/domain/protocol/suites.ts"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
import type { ClientSession } from "../../src/client/sealed/session.ts"
import { Transport } from "../../src/client/transport/transport.ts"
import { readPolicy } from "../../src/client/policy.ts"
import { startEvidenceProxy } from "../support/evidence/evidenceProxy.ts"
import { configfs } from "../support/evidence/standIns.ts"
import { makeRelay } from "../support/relay.ts"
import { temporaryFolder } from "../support/proxy.ts"

const HASH = "A".repeat(43)
const PROVEN: ProvenCode = {
  format: "tdx",
  kid: HASH,
  configuration: HASH,
  measurement: "",
  hardware: "",
  validUntil: Number.MAX_SAFE_INTEGER,
  kept: { nonce: HASH, answer: {}, collateral: {}, verified_at: 0 },
}

const HOUR = 3_600_000
const SESSION: ClientSession = {
  id: HASH,
  idBytes: new Uint8Array(),
  suite: X25519,
  publicKey: new Uint8Array(),
  attestationHash: new Uint8Array(),
  kid: HASH,
  begunAt: 0,
  expiresAt: Number.MAX_SAFE_INTEGER,
  usableUntil: Number.MAX_SAFE_INTEGER,
  maxRequestBytes: 0,
  clockOffset: 0,
  configuration: HASH,
  requestsLeft: 1,
}

/** The hash of the configuration in an answer. */
const hashOf = (text: unknown): string =>
  createHash("sha256")
    .update(Buffer.from(String(text), "base64url"))
    .digest("base64url")

describe("a client with a policy", () => {
  for (const [reason, proven] of [
    ["kid-differs", { kid: HASH }],
    ["configuration-differs", { configuration: HASH }],
    ["evidence-expired", { validUntil: 1 }],
  ] as const) {
    it.live(`sends no prompt if the policy proved another fact than the session: ${reason}`, () =>
      Effect.gen(function* () {
        const proxy = yield* startEvidenceProxy(yield* temporaryFolder, { attest: "tsm" }, configfs("tdx_guest", 568))
        const wire = yield* makeRelay(proxy.port)
        const policy: Policy = {
          judge: ({ configuration }) =>
            Promise.resolve({ ...PROVEN, kid: proxy.kid, configuration: hashOf(configuration), ...proven }),
        }
        const client = new SealedClient({ baseUrl: wire.url, policy })
        const error: unknown = yield* Effect.promise(() => client.complete({ prompt: "x" }).catch((cause) => cause))
        assert.instanceOf(error, EvidenceRefused)
        assert.strictEqual(error.reason, reason)
        assert.notInclude(wire.seen(), "/v1/completions")
      }),
    )
  }
})

describe("proven code", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance"] }))
  afterEach(() => void vi.useRealTimers())

  it("counts for an hour, also if the clock was set back or the machine slept", async () => {
    let asked = 0
    const fetch = () => {
      asked++
      return Promise.resolve(Response.json({}))
    }
    const prover = new CodeProver({ judge: () => Promise.resolve(PROVEN) }, new Transport("http://x.test", fetch))
    const prove = () => prover.prove(SESSION)

    const { usableUntil } = await prove()
    assert.strictEqual(usableUntil, Date.now() + HOUR)
    vi.advanceTimersByTime(HOUR - 1)
    await prove()
    assert.strictEqual(asked, 1)

    vi.advanceTimersByTime(1)
    vi.setSystemTime(Date.now() - 10 * HOUR)
    await prove()
    assert.strictEqual(asked, 2)

    // While the machine sleeps, only the time of day advances.
    vi.setSystemTime(Date.now() + HOUR)
    await prove()
    assert.strictEqual(asked, 3)
  })
})

describe("readPolicy", () => {
  for (const [what, file, message] of [
    ["text that is not JSON", "{", "not I-JSON"],
    ["a file of over 64 KiB", " ".repeat(64 * 1024 + 1), "at most 65536 bytes"],
    ["a file without a policy", `{"keys": []}`, "has the members policy and keys"],
    ["a policy without the signer's key", `{"policy": "a.b.c", "keys": []}`, "is not signed by"],
  ] as const) {
    it.live(`refuses ${what}`, () =>
      Effect.gen(function* () {
        const error: unknown = yield* Effect.promise(() => readPolicy(file, { signer: HASH }).catch((cause) => cause))
        assert.instanceOf(error, Error)
        assert.include(error.message, message)
      }),
    )
  }
})
