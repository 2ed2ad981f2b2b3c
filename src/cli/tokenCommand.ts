import { Console, DateTime, Duration, Effect, Option, Redacted } from "effect"
import { Command, Flag } from "effect/cli"
import { TenantId } from "../domain/agent.ts"
import { DurationText } from "../layers/config/codecs.ts"
import { tokenSettings } from "../layers/config/gatewaySettings.ts"
import { ConfigurationMistakes, decodeSettings } from "../layers/config/Setting.ts"
import { mintToken } from "../services/access/mintToken.ts"
import { describeSettings } from "./describeSettings.ts"

export const tokenCommand = Command.make(
  "token",
  {
    sub: Flag.String("sub").pipe(Flag.withDescription("Who the token is for"), Flag.withSchema(TenantId)),
    tenant: Flag.String("tenant").pipe(
      Flag.withDescription("Whose agents and jobs it opens; default: the same as --sub"),
      Flag.withSchema(TenantId),
      Flag.optional,
    ),
    role: Flag.String("role").pipe(Flag.withDescription("A role, such as admin; may be repeated"), Flag.atLeast(0)),
    ttl: Flag.String("ttl").pipe(
      Flag.withDescription("How long it counts, such as 15min or 12h (1h)"),
      Flag.withDefault("1h"),
      Flag.withSchema(DurationText),
    ),
    json: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON"), Flag.withDefault(false)),
  },
  Effect.fn(function* (input) {
    const { jwtAudience, jwtIssuer, jwtSecret } = yield* decodeSettings(tokenSettings)
    if (jwtSecret === undefined) {
      return yield* new ConfigurationMistakes({
        mistakes: [{ variable: "JWT_SECRET", problem: "is missing; use the one that the gateway has" }],
      })
    }
    const tenant = Option.getOrElse(input.tenant, () => input.sub)
    const expires = DateTime.addDuration(yield* DateTime.now, input.ttl)
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
            tenant,
            roles: input.role,
            expires_in: Duration.toSeconds(input.ttl),
            expires_at: DateTime.formatIso(expires),
          })
        : token,
    )
  }),
).pipe(
  Command.withShortDescription("Make a token for the gateway"),
  Command.withDescription(
    `Makes an HS256 token with the gateway's secret and prints it alone. For first steps and tests; in production, tokens
come from your identity provider (JWT_JWKS_URL).

${describeSettings(tokenSettings)}`,
  ),
  Command.withExamples([
    { command: "JWT_SECRET=… sealgate token --sub alice", description: "For an hour" },
    {
      command: "JWT_SECRET=… sealgate token --sub ops --tenant acme --role admin --ttl 15min",
      description: "For an administrator of one tenant",
    },
  ]),
)
