/** `--policy` and `--policy-signer`: the code that a command seals to. */
import { Effect, Option, Schema } from "effect"
import { clientError } from "../../client/clientError.ts"
import type { Policy } from "../../client/attestation/Policy.ts"
import { unusable } from "../CommandFailed.ts"
import { optionalFlag, PinText } from "../flags.ts"
import { readInput } from "../inputFile.ts"
import { Judging } from "./Judging.ts"

export const policyFlags = {
  policy: optionalFlag(
    "policy",
    "file",
    "Signed policy; nothing is sealed until evidence proves that it accepts the proxy's code. With pins, both must hold",
    Schema.String,
  ),
  policySigner: optionalFlag("policy-signer", "kid", "Id of the key that signed the policy", PinText),
}

interface PolicyInput {
  readonly policy: Option.Option<string>
  readonly policySigner: Option.Option<string>
}

export const rulesFrom = Effect.fnUntraced(function* ({ policy, policySigner }: PolicyInput) {
  if (Option.isNone(policy) && Option.isNone(policySigner)) return undefined
  if (Option.isNone(policy) || Option.isNone(policySigner)) {
    return yield* unusable("--policy and --policy-signer go together: anybody can write a policy. Give both.")
  }
  const file = String(yield* readInput(policy.value, "The file of --policy"))
  const { readRules } = yield* Effect.promise(() => import("../../client/attestation/readPolicy.ts"))
  return yield* Effect.tryPromise({
    try: () => readRules(file, policySigner.value),
    catch: (error) => unusable(clientError(error).message),
  })
})

export const policyFrom = Effect.fnUntraced(function* (input: PolicyInput) {
  const rules = yield* rulesFrom(input)
  const none: { readonly policy?: Policy } = {}
  if (rules === undefined) return none
  const { policyOf } = yield* Effect.promise(() => import("../../client/attestation/readPolicy.ts"))
  const found: { readonly policy?: Policy } = { policy: policyOf(rules, yield* Judging) }
  return found
})
