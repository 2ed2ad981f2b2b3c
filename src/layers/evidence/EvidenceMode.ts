/** Evidence mode of the proxy: the source of evidence, the identity that never leaves the guest, and its refusals. */
import { randomFillSync } from "node:crypto"
import { type Config, Context, Effect, Layer } from "effect"
import { encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import type { ConfigurationMistakes } from "../../domain/problems/configuration.ts"
import { layerConfidentialSpace } from "../../services/evidence/ConfidentialSpace.ts"
import { dstackSeed, layerDstack } from "../../services/evidence/Dstack.ts"
import { Evidence } from "../../services/evidence/Evidence.ts"
import type { SourceFailed } from "../../services/evidence/EvidenceSource.ts"
import { layerTsm } from "../../services/evidence/Tsm.ts"
import { Attestation } from "../../services/sealing/Attestation.ts"
import type { KeyFileError } from "../../services/sealing/AttestationKeyFile.ts"
import { KeyVault } from "../../services/sealing/KeyVault.ts"
import { secretBytes } from "../../services/sealing/secretBytes.ts"
import type { Sessions } from "../../services/sealing/Sessions.ts"
import { sha256 } from "../../services/sealing/sha256.ts"
import type { ProxySettings } from "../config/proxySettings.ts"
import { configurationOf, type ProcessFacts } from "./configurationOf.ts"
import { mustBeMeasured } from "./evidenceRefusals.ts"

/** The process that evidence describes; tests of the wiring replace it. */
export const EvidenceProcess = Context.Reference<ProcessFacts>("sealgate/layers/evidence/EvidenceProcess", {
  defaultValue: () => ({ env: process.env, execArgv: process.execArgv }),
})

const SOURCES = { dstack: layerDstack, tsm: layerTsm, "confidential-space": layerConfidentialSpace }

const SEED_BYTES = 32

type EvidenceModeError = KeyFileError | ConfigurationMistakes | SourceFailed | Config.ConfigError

/** An identity of the guest: derived by dstack's key service, or else made at start. */
const layerIdentity = (mode: NonNullable<ProxySettings["attest"]>) =>
  Attestation.layerFromSeed<SourceFailed>(
    mode === "dstack" ? dstackSeed : Effect.sync(() => randomFillSync(secretBytes(SEED_BYTES))),
  )

/** The identity, its evidence, and in evidence mode the hash of the configuration. Fails if it would prove nothing. */
export const withEvidence = (
  settings: ProxySettings,
  sessions: (configuration: string | undefined) => Layer.Layer<Sessions, never, Attestation | KeyVault>,
): Layer.Layer<Attestation | Evidence | Sessions, EvidenceModeError, KeyVault> => {
  const { attest } = settings
  if (attest === undefined) {
    return sessions(undefined).pipe(
      Layer.provideMerge(Layer.merge(Evidence.layerOff, Attestation.layer({ keyFile: settings.attestationKeyFile }))),
    )
  }
  return Layer.unwrap(
    Effect.gen(function* () {
      const facts = yield* EvidenceProcess
      yield* mustBeMeasured(attest, facts)
      const configuration = configurationOf(settings, (yield* KeyVault).kind, facts)
      return sessions(encodeBase64Url(sha256(utf8(configuration)))).pipe(
        Layer.provideMerge(Evidence.layer(configuration).pipe(Layer.provide(SOURCES[attest]))),
        Layer.provideMerge(layerIdentity(attest)),
      )
    }),
  )
}
