import { Effect } from "effect"
import { Command } from "effect/cli"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { serverFlags } from "./flags.ts"
import { SERVER_EXITS, withHelp } from "./help/Guide.ts"

export const proxyCommand = Command.make("proxy", serverFlags(3001), (flags) =>
  Effect.flatMap(
    Effect.promise(() => import("./serveProxy.ts")),
    ({ serveProxy }) => serveProxy(flags),
  ),
).pipe(
  withHelp({
    summary: "Run the sealed proxy",
    description: `Runs the sealed proxy, for operators. It opens sealed prompts only to call a model provider, seals every answer and
stores nothing. Without a provider's key, it serves a built-in echo for trials. Everything else is configured by settings.

At start it logs its pin, which clients need, and the address of its console (/console).`,
    examples: [
      ["sealgate proxy", "The echo, on port 3001 of all addresses of this machine"],
      ["PROVIDER1_API_KEY=… sealgate proxy", "With a model provider"],
      [
        "PROVIDER1_API_KEY=… PROVIDER1_BASE_URL=http://gpu:8000/v1 \\\n    sealgate proxy",
        "With your own server that speaks OpenAI's API",
      ],
      ["PORT=8443 TLS_CERT_FILE=cert.pem TLS_KEY_FILE=key.pem \\\n    sealgate proxy", "Over HTTPS"],
    ],
    settings: proxySettings,
    exits: SERVER_EXITS,
    next:
      "Chat: `sealgate chat --proxy http://localhost:3001 --pin <pin>`. Before going live: `sealgate doctor`. " +
      "This help is long: `sealgate proxy --help | less`.",
  }),
)
