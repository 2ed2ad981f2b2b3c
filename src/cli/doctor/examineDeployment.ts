/** Runs all checks of `sealgate doctor`. Loaded on demand, because it imports TLS and a client. */
import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { Effect, Option } from "effect"
import { SealedClient } from "../../client/sealed/SealedClient.ts"
import { unusable } from "../CommandFailed.ts"
import { readCa } from "../inputFile.ts"
import { credentialFrom } from "../credential.ts"
import { examineCalls } from "./examineCalls.ts"
import type { EvidencePolicy } from "../../attestation/policy.ts"
import { examineEvidence } from "./examineEvidence.ts"
import { examineReadiness } from "./examineReadiness.ts"
import { examineSession } from "./examineSession.ts"
import { examineTransport } from "./examineTransport.ts"
import { isWell, warning } from "./Finding.ts"
import { asBase } from "./probe.ts"

interface Deployment {
  readonly proxy: URL
  readonly pins: ReadonlyArray<string>
  readonly rules: EvidencePolicy | undefined
  /** A PEM file of certificate authorities to trust. */
  readonly ca: Option.Option<string>
  readonly operator: Option.Option<URL>
  /** Whether to call each provider once. */
  readonly call: boolean
  readonly credentialFile: Option.Option<string>
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** Trusts the authorities in a file, besides the default ones, until the scope closes. */
const alsoTrust = Effect.fnUntraced(function* (file: string) {
  const certificates = (yield* readCa(file)).match(CERTIFICATE)
  if (certificates === null) return yield* unusable("The file of --ca holds no certificate in PEM form.")
  const before = getCACertificates("default")
  yield* Effect.acquireRelease(
    Effect.sync(() => setDefaultCACertificates([...before, ...certificates])),
    () => Effect.sync(() => setDefaultCACertificates(before)),
  )
})

export const examineDeployment = Effect.fn(function* (given: Deployment) {
  if (Option.isSome(given.ca)) yield* alsoTrust(given.ca.value)
  const proxy = asBase(given.proxy)
  const { findings, isSealgate, reached } = yield* examineTransport(proxy)
  if (reached) {
    findings.push(...(yield* examineSession(proxy, given.pins)))
    if (given.rules !== undefined) findings.push(...(yield* examineEvidence(given.proxy, given.rules)))
    // /ready is not part of the protocol, so other implementations may lack it.
    if (isSealgate) findings.push(...(yield* examineReadiness(proxy, Option.map(given.operator, asBase))))
  }
  if (given.call && isWell(findings)) {
    const credential = yield* credentialFrom(given.credentialFile)
    const client = new SealedClient({ baseUrl: given.proxy, pins: given.pins, ...credential })
    findings.push(...(yield* examineCalls(proxy, client)))
  } else if (given.call) {
    findings.push(warning("calls", "No provider was called, because a check failed.", "Fix that first."))
  }
  return findings
}, Effect.scoped)
