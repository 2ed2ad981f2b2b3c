/** Clients with a policy at a proxy on a stand-in of each kind of machine, at the time of the tests' own certificates. */
import { afterEach, assert, beforeEach, describe, it, vi } from "@effect/vitest"
import { Effect } from "effect"
import type { Accepted } from "../../src/attestation/policy.ts"
import { policyOf } from "../../src/client/policy.ts"
import { EvidenceRefused } from "../../src/client/errors.ts"
import { NOW } from "../attestation/support/world.ts"
import { dstackMachine, snpMachine, spaceMachine, tdxMachine } from "../support/evidence/machines.ts"
import { provenSetup } from "../support/evidence/provenSetup.ts"

/** The entry with one digit of its code changed. */
const ofOtherCode = (entry: Accepted): Accepted => {
  const changed = (text: string): string => text.slice(0, -1) + (text.endsWith("0") ? "1" : "0")
  if (entry.format === "sev-snp") return { ...entry, measurements: entry.measurements.map(changed) }
  if (entry.format === "dstack") return { ...entry, compose_hashes: entry.compose_hashes.map(changed) }
  if (entry.format === "confidential-space") return { ...entry, image_digests: entry.image_digests.map(changed) }
  return { ...entry, measurements: entry.measurements.map((each) => ({ ...each, rtmr3: changed(each.rtmr3) })) }
}

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: NOW * 1000 }))
afterEach(() => void vi.useRealTimers())

describe("a client with a policy", () => {
  for (const [name, machineOf] of [
    ["SEV-SNP through configfs-tsm", () => snpMachine()],
    ["TDX through configfs-tsm", () => tdxMachine(4)],
    ["TDX through configfs-tsm with quotes of version 5", () => tdxMachine(5)],
    ["dstack", dstackMachine],
    ["Confidential Space", () => spaceMachine()],
  ] as const) {
    it.live(`seals to a proxy on ${name}, and to no proxy with other code, base URL or root`, () =>
      Effect.gen(function* () {
        const machine = machineOf()
        const { client, judging, policy, proxy, rules, wire } = yield* provenSetup({}, machine)
        const refusedFor = (sealed: ReturnType<typeof client>) =>
          Effect.promise(() =>
            sealed.complete({ prompt: "secret" }).then(
              () => "sealed",
              (error: unknown) => (error instanceof EvidenceRefused ? error.reason : String(error)),
            ),
          )
        const accept = [ofOtherCode(machine.accepts)]
        assert.strictEqual(yield* refusedFor(client({ policy: policy({ accept }) })), "measurement-unknown")
        const providers = rules.configuration.providers.map((each) => ({ ...each, base_url: `${each.base_url}/x` }))
        const configuration = { ...rules.configuration, providers }
        const elsewhere = client({ policy: policy({ configuration }) })
        assert.strictEqual(yield* refusedFor(elsewhere), "configuration-provider")
        const pinned = client({ policy: policyOf(rules, { collateral: judging.collateral }) })
        assert.strictEqual(yield* refusedFor(pinned), "chain-root")
        assert.notInclude(wire.seen(), "/v1/completions")
        const { code } = yield* Effect.promise(() => client().complete({ prompt: "secret" }))
        assert.deepStrictEqual([code?.kid, code?.format], [proxy.kid, machine.accepts.format])
      }),
    )
  }
})
