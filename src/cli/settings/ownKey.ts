/** The attestation key of this folder's proxy, for `proxy`, `keygen` and `pin`. */
import { Effect } from "effect"
import { proxySettings } from "../../layers/config/proxySettings.ts"
import { decodeSettings } from "../../layers/config/Setting.ts"
import type { Bytes } from "../../domain/bytes/bytes.ts"
import { readKeyFile } from "../../services/sealing/AttestationKeyFile.ts"
import { kidOf } from "../../services/sealing/Attestation.ts"
import { KeyVault } from "../../services/sealing/KeyVault.ts"

export const attestationKeyFile = Effect.map(
  decodeSettings({ file: proxySettings.attestationKeyFile }),
  ({ file }) => file,
)

/** Computes the pin of a key and destroys the key. */
export const pinOf = (seed: Bytes) =>
  Effect.map(KeyVault, (vault) => {
    const key = vault.signingKey(seed)
    const kid = kidOf(key.publicKey)
    key.destroy()
    return kid
  }).pipe(Effect.provide(KeyVault.layer))

/** `other` says how to use another file. */
export const pinOfFile = (file: string, other?: string) => Effect.flatMap(readKeyFile(file, other), pinOf)
