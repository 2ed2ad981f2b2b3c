import { Console, Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { parsed } from "../../layers/config/codecs.ts"
import { valueFlag } from "../flags.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson } from "../printable.ts"
import { expectedOf } from "./expected.ts"

const DigestText = parsed(
  Schema.String,
  (text) => (/^sha256:[0-9a-f]{64}$/.test(text) ? text : undefined),
  "sha256: and 64 hexadecimal digits, as registries show it",
)

export const expectCommand = Command.make(
  "expect",
  {
    image: valueFlag("image", "digest", "Digest of the image that you built or compared, sha256:…", DigestText),
  },
  Effect.fn(function* ({ image }) {
    yield* Console.log(printableJson(yield* expectedOf(image)))
  }),
).pipe(
  withHelp({
    summary: "Print what a policy for this release contains",
    description: `Prints, as JSON, what evidence of this release shows: software and software_digest of the configuration, image_digest,
and for dstack the app_compose to deploy, byte for byte, with its compose_hash. app_compose holds deploy/dstack/compose.yaml
with the image's digest. Other providers or settings give another hash.`,
    examples: [
      ["sealgate attest expect --image <digest>", "Compare with `attest show`"],
      [
        "sealgate attest expect --image <digest> \\\n    | jq -rj .app_compose > app-compose.json",
        "The file to deploy on dstack",
      ],
    ],
    next: "Compare with `sealgate attest show <url>`, then make the policy with `sealgate attest policy <url>`.",
  }),
)
