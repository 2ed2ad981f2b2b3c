import { Command } from "effect/cli"
import { expectCommand } from "./attest/expectCommand.ts"
import { policyCommand } from "./attest/policyCommand.ts"
import { showCommand } from "./attest/showCommand.ts"
import { verifyKeptCommand } from "./attest/verifyKeptCommand.ts"
import { withHelp } from "./help/Guide.ts"

export const attestCommand = Command.make("attest").pipe(
  withHelp({
    summary: "Show and judge which code a proxy's key is in",
    description: `A pin says who runs a proxy; evidence says which code with which configuration on which hardware holds the pinned key.
These commands show and verify it, and make policies, which clients require before they seal.`,
    examples: [
      ["sealgate attest show https://proxy.example.com", "What runs there?"],
      [
        "sealgate attest policy https://proxy.example.com \\\n    --key policy-key.pem > policy.json",
        "Accept exactly that",
      ],
    ],
    next: "See `sealgate attest policy --help`.",
  }),
  Command.withSubcommands([showCommand, policyCommand, verifyKeptCommand, expectCommand]),
)
