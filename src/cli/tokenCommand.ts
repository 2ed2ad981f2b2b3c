import { Console, DateTime, Duration, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { ClaimedTenant, Subject } from "../domain/access/identity.ts"
import { Role } from "../domain/access/roles.ts"
import { DurationText } from "../layers/config/codecs.ts"
import { mintSettings } from "../layers/config/gatewaySettings.ts"
import { ConfigurationMistakes } from "../domain/problems/configuration.ts"
import { decodeSettings } from "../layers/config/Setting.ts"
import { unusable } from "./CommandFailed.ts"
import { withHelp } from "./help/Guide.ts"
import { withoutUndefined } from "../domain/json/withoutUndefined.ts"
import { jsonFlag, optionalFlag, valueFlag } from "./flags.ts"

export const tokenCommand = Command.make(
  "token",
  {
    sub: valueFlag("sub", "name", "Subject of the token: its user (required)", Subject),
    tenant: optionalFlag(
      "tenant",
      "name",
      "Tenant whose agents and jobs it opens (required unless JWT_USERS_ARE_TENANTS is 1)",
      ClaimedTenant,
    ),
    role: Flag.Literals("role", Role.literals).pipe(
      Flag.withDescription("A role; may be repeated (default none)"),
      Flag.atLeast(0),
    ),
    ttl: valueFlag("ttl", "time", "How long it is valid, such as 15min or 12h (default 1h)", DurationText).pipe(
      Flag.withDefault(Duration.hours(1)),
    ),
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* (input) {
    const { jwtAudience, jwtIssuer, jwtSecret, jwtUsersAreTenants } = yield* decodeSettings(mintSettings)
    if (jwtSecret === undefined) {
      return yield* new ConfigurationMistakes({
        mistakes: [
          {
            variable: "JWT_SECRET",
            problem: "is missing; set it to the gateway's secret (`sealgate gateway --dev` prints a token without one)",
          },
        ],
      })
    }
    const tenant = Option.getOrUndefined(input.tenant)
    if (tenant === undefined && !jwtUsersAreTenants) {
      return yield* unusable(
        "--tenant is missing: name the tenant whose agents and jobs the token opens, such as --tenant acme. (If users are tenants, set JWT_USERS_ARE_TENANTS=1 here as for the gateway.)",
      )
    }
    const expires = DateTime.addDuration(yield* DateTime.now, input.ttl)
    const { mintToken } = yield* Effect.promise(() => import("../services/access/mintToken.ts"))
    const token = Redacted.value(
      yield* mintToken({
        secret: jwtSecret,
        issuer: jwtIssuer,
        audience: jwtAudience,
        subject: input.sub,
        tenant,
        roles: input.role,
        ttl: input.ttl,
      }),
    )
    yield* Console.log(
      input.json
        ? JSON.stringify({
            token,
            sub: input.sub,
            ...withoutUndefined({ tenant }),
            roles: input.role,
            expires_in: Duration.toSeconds(input.ttl),
            expires_at: DateTime.formatIso(expires),
          })
        : token,
    )
  }),
).pipe(
  withHelp({
    summary: "Mint a token for the gateway",
    description: `Mints a token (JWT, HS256) for clients of a gateway and prints nothing else. It needs the gateway's secret and is meant
for first steps and tests; in production, tokens come from your identity provider (JWT_JWKS_URL of the gateway).`,
    examples: [
      ["export JWT_SECRET=$(openssl rand -base64 48)\n  sealgate gateway", "A gateway with a new secret"],
      [
        "export SEALGATE_TOKEN=$(sealgate token --sub alice --tenant acme)\n  sealgate agents",
        "A token for an hour, with the same JWT_SECRET, and its first use",
      ],
      ["sealgate token --sub ops --tenant acme --role admin --ttl 15min", "For an administrator of one tenant"],
    ],
    settings: mintSettings,
    exits: { 0: "the token was printed", 1: "JWT_SECRET is missing, or another setting is invalid" },
    next: "Put it into SEALGATE_TOKEN, which `sealgate run`, `jobs`, `agents` and `stats` read.",
  }),
)
