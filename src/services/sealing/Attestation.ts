/** The proxy's identity: one Ed25519 key that outlives restarts and signs every statement. Clients pin its `kid`. */
import { Context, Effect, Layer } from "effect"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import {
  assembleStatement,
  type ClaimsOf,
  type PublicJwk,
  publicJwk,
  signingInput,
  statementHeader,
  type StatementKind,
  thumbprintInput,
} from "../../domain/protocol/statement.ts"
import { VERSION } from "../../domain/protocol/transcript.ts"
import { type KeyFileError, loadKeyFile } from "./AttestationKeyFile.ts"
import { KeyVault } from "./KeyVault.ts"
import { sha256 } from "./sha256.ts"

/** The `kid` of an Ed25519 public key: its RFC 7638 thumbprint, which clients pin. */
export const kidOf = (publicKey: Bytes): string => encodeBase64Url(sha256(thumbprintInput(encodeBase64Url(publicKey))))

export class Attestation extends Context.Service<
  Attestation,
  {
    readonly kid: string
    readonly jwk: PublicJwk
    /** Whether the key is new, because there was no key file. */
    readonly created: boolean
    /** Returns a compact JWS over `claims`, `iss` and `version`. */
    readonly sign: <Kind extends StatementKind>(kind: Kind, claims: Omit<ClaimsOf[Kind], "iss" | "version">) => string
  }
>()("sealgate/services/sealing/Attestation") {
  /** Uses the key in `keyFile`, created if absent. The key is overwritten when the scope closes. */
  static readonly layer = (settings: { readonly keyFile: string }): Layer.Layer<Attestation, KeyFileError, KeyVault> =>
    Layer.effect(
      Attestation,
      Effect.flatMap(loadKeyFile(settings.keyFile), ({ created, seed }) => make(seed, created)),
    )

  /** Uses the key of a 32-byte seed, which is overwritten when the scope closes at the latest. */
  static readonly layerFromSeed = <E>(seed: Effect.Effect<Bytes, E>): Layer.Layer<Attestation, E, KeyVault> =>
    Layer.effect(
      Attestation,
      Effect.flatMap(seed, (bytes) => make(bytes, false)),
    )
}

const make = Effect.fnUntraced(function* (seed: Bytes, created: boolean) {
  const vault = yield* KeyVault
  const key = yield* Effect.acquireRelease(
    Effect.sync(() => vault.signingKey(seed)),
    (key) => Effect.sync(() => key.destroy()),
  )
  const kid = kidOf(key.publicKey)
  const headers = {
    session: statementHeader("session", kid),
    receipt: statementHeader("receipt", kid),
    proof: statementHeader("proof", kid),
  } satisfies Readonly<Record<StatementKind, string>>
  return Attestation.of({
    kid,
    created,
    jwk: publicJwk(kid, key.publicKey),
    sign: (kind, claims) => {
      // `claims` lacks exactly `iss` and `version`, which TypeScript cannot infer for a generic kind.
      const whole = { iss: kid, version: VERSION, ...claims } as unknown as ClaimsOf[typeof kind]
      const input = signingInput(headers[kind], whole)
      return assembleStatement(input, key.sign(utf8(input)))
    },
  })
})
