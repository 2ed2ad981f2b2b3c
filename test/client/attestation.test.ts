/** A client with a policy at a proxy whose key has evidence of another configuration or another key. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { EvidenceRefused } from "../../src/client/errors.ts"
import type { Policy, ProvenCode } from "../../src/client/attestation/Policy.ts"
import { SealedClient } from "../../src/client/sealed/SealedClient.ts"
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
    it.live(`sends no prompt if the policy proved something else than the session: ${reason}`, () =>
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
