import { Console, Effect, Schema } from "effect"
import { Command } from "effect/cli"
import { parsed } from "../../layers/config/codecs.ts"
import { valueFlag } from "../flags.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson } from "../printable.ts"
import { expectedOf } from "./expected.ts"

/** Without a registry, Docker would look for the image among its official ones. */
const ImageText = parsed(
  Schema.String,
  (text) => (/^[\w.-]+(?::\d+)?(?:\/[\w.-]+)+@sha256:[0-9a-f]{64}$/.test(text) ? text : undefined),
  "an image of a registry with its digest: registry/name@sha256:…",
)

export const expectCommand = Command.make(
  "expect",
  {
    image: valueFlag("image", "image", "Image that you built or compared: registry/name@sha256:…", ImageText),
  },
  Effect.fn(function* ({ image }) {
    yield* Console.log(printableJson(yield* expectedOf(image)))
  }),
).pipe(
  withHelp({
    summary: "Print what a policy for this release contains",
    description: `Prints, as JSON, what evidence of this release shows: software and software_digest of the configuration, image_digest,
and for dstack the app_compose to deploy, byte for byte, with its compose_hash. app_compose holds deploy/dstack/compose.yaml
with that image. Other providers or settings give another hash.`,
    examples: [
      ["sealgate attest expect --image <image>", "Compare with `attest show`"],
      [
        "sealgate attest expect --image <image> \\\n    | jq -rj .app_compose > app-compose.json",
        "The file to deploy on dstack",
      ],
    ],
    next: "Compare with `sealgate attest show <url>`, then make the policy with `sealgate attest policy <url>`.",
  }),
)
