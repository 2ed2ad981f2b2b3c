import { Console, Effect, Schema } from "effect"
import { Command, Flag } from "effect/cli"
import { intText } from "../../layers/config/codecs.ts"
import { readKeyFile } from "../../services/sealing/AttestationKeyFile.ts"
import { valueFlag } from "../flags.ts"
import { withHelp } from "../help/Guide.ts"
import { printableLine } from "../printable.ts"
import { dimOnStderr } from "../terminal.ts"
import { firmwareText } from "./describeCode.ts"
import { acceptFlag, urlArgument } from "./showCommand.ts"
import { type EvidencePolicy, POLICY_TYPE } from "../../attestation/policy.ts"
import { type Bytes, encodeBase64Url, utf8 } from "../../domain/bytes/bytes.ts"
import { iJsonOf } from "../../domain/json/surrogates.ts"
import { assembleStatement, publicJwk } from "../../domain/protocol/statement.ts"
import { kidOf } from "../../services/sealing/Attestation.ts"
import { KeyVault } from "../../services/sealing/KeyVault.ts"

const part = (value: object): string => encodeBase64Url(utf8(iJsonOf(value)))

/** Signs a policy as a statement with a type of its own, and destroys the key. Returns the file's text and the signer. */
const signPolicy = (rules: EvidencePolicy, seed: Bytes) =>
  Effect.map(KeyVault, (vault) => {
    const key = vault.signingKey(seed)
    const kid = kidOf(key.publicKey)
    const input = `${part({ alg: "Ed25519", typ: POLICY_TYPE, kid })}.${part(rules)}`
    const policy = assembleStatement(input, key.sign(utf8(input)))
    const file = JSON.stringify({ policy, keys: [publicJwk(kid, key.publicKey)] }, null, 2)
    key.destroy()
    return { file, kid }
  }).pipe(Effect.provide(KeyVault.layer))

const DEFAULT_DAYS = 90
const MAX_DAYS = 3650
const DAY_SECONDS = 86_400

const firmwareAdvice = ({ accept }: EvidencePolicy): string =>
  accept
    .flatMap((entry) => (entry.format === "sev-snp" ? [firmwareText(entry.minimum_tcb)] : []))
    .map((minimum) => `\nIts minimum is the firmware shown, ${minimum}: compare it with AMD's security bulletins.`)
    .join("")

export const policyCommand = Command.make(
  "policy",
  {
    url: urlArgument,
    accept: acceptFlag,
    key: valueFlag(
      "key",
      "file",
      "Your key that signs the policy; `sealgate keygen <file>` makes one",
      Schema.NonEmptyString,
    ),
    days: valueFlag(
      "days",
      "number",
      `Days until the policy expires (default ${DEFAULT_DAYS})`,
      intText(1, MAX_DAYS),
    ).pipe(Flag.withDefault(DEFAULT_DAYS)),
  },
  Effect.fn(function* (input) {
    const { askAt, prove, rulesOf, secondsNow } = yield* Effect.promise(() => import("./prove.ts"))
    const seed = yield* readKeyFile(input.key, "name another file with --key")
    const asked = yield* askAt(input.url)
    const rules = yield* rulesOf(asked, input.accept, (yield* secondsNow) + input.days * DAY_SECONDS)
    const code = yield* prove(asked, rules)
    const { file, kid } = yield* signPolicy(rules, seed)
    yield* Console.log(file)
    yield* Console.error(
      dimOnStderr(
        `Trust on first use: this accepts what answered just now, code ${printableLine(code.measurement)} with its configuration. ` +
          `Compare both with a release that you trust before you rely on it.${firmwareAdvice(rules)}\nUse it: --policy <file> --policy-signer ${kid}`,
      ),
    )
  }),
).pipe(
  withHelp({
    summary: "Make a policy from the evidence that a proxy shows",
    description: `Verifies a proxy's evidence and prints a signed policy that accepts exactly its code, configuration and kind of
hardware. That is trust on first use: whether the code is right is yours to find out.`,
    examples: [
      ["sealgate keygen policy-key.pem", "Once: the key that signs your policies"],
      [
        "sealgate attest policy https://proxy.example.com \\\n    --key policy-key.pem > policy.json",
        "Valid for 90 days",
      ],
    ],
    exits: { 0: "the policy was printed", 1: "there is no genuine evidence, or the key cannot be read" },
    next: "`sealgate chat --policy policy.json --policy-signer <kid>`; the kid of the key: `sealgate pin policy-key.pem`.",
  }),
)
