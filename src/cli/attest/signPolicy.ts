/** Signs policy files, by the rules of statements under a type of their own. */
import { Effect } from "effect"
import { type EvidencePolicy, POLICY_TYPE } from "../../attestation/policy.ts"
import { publicJwk } from "../../client/verification/trust.ts"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { iJsonOf } from "../../domain/json/surrogates.ts"
import { assembleStatement } from "../../domain/protocol/statement.ts"
import { kidOf } from "../../services/sealing/Attestation.ts"
import { KeyVault } from "../../services/sealing/KeyVault.ts"

const part = (value: object): string => encodeBase64Url(utf8(iJsonOf(value)))

/** Returns the file's text and the signer's id. Destroys the key. */
export const signPolicy = (rules: EvidencePolicy, seed: Bytes) =>
  Effect.map(KeyVault, (vault) => {
    const key = vault.signingKey(seed)
    const kid = kidOf(key.publicKey)
    const input = `${part({ alg: "Ed25519", typ: POLICY_TYPE, kid })}.${part(rules)}`
    const policy = assembleStatement(input, key.sign(utf8(input)))
    const file = JSON.stringify({ policy, keys: [publicJwk(kid, key.publicKey)] }, null, 2)
    key.destroy()
    return { file, kid }
  }).pipe(Effect.provide(KeyVault.layer))
