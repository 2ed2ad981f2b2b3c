import { Console, Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { unusable } from "../CommandFailed.ts"
import { jsonFlag } from "../flags.ts"
import { withHelp } from "../help/Guide.ts"
import { readInput } from "../inputFile.ts"
import { printableJson } from "../printable.ts"
import { green } from "../terminal.ts"
import { codeSentence } from "./describeCode.ts"
import { policyFlags, rulesFrom } from "./policyFlags.ts"

export const verifyKeptCommand = Command.make(
  "verify",
  {
    file: Argument.String("file").pipe(
      Argument.withDescription("Evidence kept by `connect --receipts` (code-….json) or `attest show --json`"),
    ),
    ...policyFlags,
    json: jsonFlag("Print what is proven as JSON"),
  },
  Effect.fn(function* (input) {
    const rules = yield* rulesFrom(input)
    if (rules === undefined) return yield* unusable("Give a policy with --policy and --policy-signer.")
    const { proveKept, readKept } = yield* Effect.promise(() => import("./prove.ts"))
    const kept = yield* readKept(String(yield* readInput(input.file)), input.file)
    const code = yield* proveKept(kept, rules)
    const { kept: _, ...facts } = code
    yield* Console.log(input.json ? printableJson(facts) : `${green("✓")} ${codeSentence(code)}`)
  }),
).pipe(
  withHelp({
    summary: "Verify kept evidence of code against a policy",
    description: `Verifies evidence that was kept beside receipts, offline, as of the time at which it was kept: the file's writer vouches
for that time alone.`,
    examples: [
      [
        "sealgate attest verify receipts/code-….json --policy policy.json \\\n    --policy-signer <kid>",
        "Which code held the key?",
      ],
      [
        "sealgate attest verify evidence.json --policy policy.json \\\n    --policy-signer <kid> --json",
        "For programs",
      ],
    ],
    exits: {
      0: "the evidence is genuine, and the policy accepts it",
      1: "it is not genuine, or the policy refuses it",
    },
    next: "`sealgate verify receipt.json --evidence code-….json` shows it beside a receipt.",
  }),
)
