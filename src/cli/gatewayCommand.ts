import { Effect } from "effect"
import { Command } from "effect/cli"
import { gatewaySettings } from "../layers/config/gatewaySettings.ts"
import { serverFlags, switchFlag } from "./flags.ts"
import { SERVER_EXITS, withHelp } from "./help/Guide.ts"

export const gatewayCommand = Command.make(
  "gateway",
  {
    dev: switchFlag(
      "dev",
      "For trials: listen on 127.0.0.1 only, create a secret if there is none, print an admin token",
    ),
    ...serverFlags(3000),
  },
  (flags) =>
    Effect.flatMap(
      Effect.promise(() => import("./serveGateway.ts")),
      ({ serveGateway }) => serveGateway(flags),
    ),
).pipe(
  withHelp({
    summary: "Run the agent gateway",
    description: `Runs the agent gateway, for operators: an HTTP API that gives tasks to agents, as jobs that survive restarts. Each
answer is either challenged by a second model (adversarial) or compared with other models' answers (verified). Without
a provider's key, it serves a built-in echo for trials. Everything else is configured by settings.

At start it logs the address of its console (/console). /openapi.json describes the API.`,
    examples: [
      ["sealgate gateway --dev", "For trials: this machine only, with a token"],
      ["JWT_SECRET=… sealgate gateway", "Listen on port 3000, keep jobs in a file; `sealgate token` mints tokens"],
      [
        "DATABASE_URL=postgres://… JWT_JWKS_URL=https://…/jwks.json \\\n    sealgate gateway",
        "One of several gateways on one Postgres",
      ],
    ],
    settings: gatewaySettings,
    exits: SERVER_EXITS,
    next:
      'With --dev: copy the `export SEALGATE_TOKEN=…` line that it prints into another terminal, then `sealgate run "Is 391 a ' +
      'prime?"`. Without --dev: `sealgate token` mints tokens. This help is long: `sealgate gateway --help | less`.',
  }),
)
