/** A proxy on a stand-in of a confidential machine, and clients with a policy that accepts it. */
import { Effect } from "effect"
import type { EvidencePolicy } from "../../../src/attestation/policy.ts"
import { policyOf } from "../../../src/client/policy.ts"
import { SealedClient, type SealedClientOptions } from "../../../src/client/sealed/SealedClient.ts"
import { SOFTWARE } from "../../../src/domain/operations/software.ts"
import { digestOfSoftware } from "../../../src/layers/evidence/softwareDigest.ts"
import { type Fake, FakeUpstream } from "../FakeUpstream.ts"
import { behind, type ProxyOptions, temporaryFolder } from "../proxy.ts"
import { makeRelay } from "../relay.ts"
import { MEASURED, startEvidenceProxy } from "./evidenceProxy.ts"
import { type Machine, snpMachine } from "./machines.ts"

/** A fake vendor, a machine, a proxy in evidence mode, the wire before it, and a policy that accepts it all. */
export const provenSetup = Effect.fnUntraced(function* (
  settings: ProxyOptions["settings"] = {},
  machine: Machine = snpMachine(),
  vendor?: Fake,
) {
  const fake = vendor ?? (yield* FakeUpstream.make())
  const folder = yield* temporaryFolder
  const files = yield* machine.start(folder)
  const proxy = yield* startEvidenceProxy(folder, { attest: machine.attest, ...behind(fake), ...settings }, files)
  const wire = yield* makeRelay(proxy.port)
  const rules: EvidencePolicy = {
    accept: [machine.accepts],
    configuration: {
      software: [{ version: SOFTWARE, digest: digestOfSoftware() }],
      providers: [{ vendor: "OpenAI-compatible", base_url: fake.openAi, sealed_pins: null }],
      outgoing_proxies: [],
      telemetry: "none",
      extra_ca: [],
      node: { versions: [process.version], flags: MEASURED.execArgv },
      key_storage: ["guarded", "plain"],
    },
    deny: { chips: [], kids: [] },
    expires: Math.floor(Date.now() / 1000) + 86_400 * 365,
  }
  const judging = { roots: machine.roots, collateral: machine.source }
  const policy = (changes: Partial<EvidencePolicy> = {}) => policyOf({ ...rules, ...changes }, judging)
  const client = (options: Partial<SealedClientOptions> = {}) =>
    new SealedClient({ baseUrl: wire.url, policy: policy(), pace: 0, ...options })
  return { fake, machine, proxy, wire, rules, judging, policy, client }
})
