import { text } from "node:stream/consumers"
import { Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Secret } from "../../client/gateway/GatewaySecrets.ts"
import { SecretName } from "../../domain/access/secrets.ts"
import { ProviderId } from "../../domain/upstream/upstream.ts"
import { unusable } from "../CommandFailed.ts"
import { printableLine } from "../printable.ts"
import { printList } from "./listCommand.ts"
import { ask, askAndPrint, connect, gatewayFlags, withGatewayHelp } from "./remote.ts"

const name = Argument.String("name").pipe(
  Argument.withDescription("Name of the secret, as in tools"),
  Argument.withSchema(SecretName),
)

const destinationOf = (input: { readonly origin: Option.Option<string>; readonly provider: Option.Option<string> }) => {
  const [origin, provider] = [Option.getOrUndefined(input.origin), Option.getOrUndefined(input.provider)]
  if (origin !== undefined) return provider === undefined ? { origin } : undefined
  return provider === undefined ? undefined : { provider }
}

const placeOf = ({ origin, provider }: Secret): string => origin ?? provider ?? ""

const setCommand = Command.make(
  "set",
  {
    name,
    origin: Flag.String("origin").pipe(
      Flag.withDescription("The only origin that gets it from tools, such as https://api.example.com"),
      Flag.withSchema(Schema.NonEmptyString),
      Flag.optional,
    ),
    provider: Flag.String("provider").pipe(
      Flag.withDescription("The model provider whose key it is, such as provider1"),
      Flag.withSchema(ProviderId),
      Flag.optional,
    ),
    ...gatewayFlags,
  },
  Effect.fn(function* (input) {
    const value = process.stdin.isTTY ? "" : (yield* Effect.promise(() => text(process.stdin))).trim()
    if (value === "") {
      return yield* unusable(
        process.stdin.isTTY
          ? "Pipe the secret to standard input: an argument would show it to every user of the machine."
          : "Standard input is empty. Pipe the secret, for example with < token.txt.",
      )
    }
    const destination = destinationOf(input)
    if (destination === undefined) return yield* unusable("Give either --origin or --provider.")
    yield* askAndPrint(
      input,
      (gateway, options) => gateway.secrets.put(input.name, { value, ...destination }, options),
      (made) => `Set ${printableLine(made.name)} for ${printableLine(placeOf(made))}.`,
    )
  }),
).pipe(
  withGatewayHelp({
    summary: "Set a secret",
    description: `Reads a secret from standard input and stores it encrypted on a gateway. With --origin it is a bearer token that tools and
MCP servers of agents name as their secret. With --provider it is your tenant's own key of a model provider, which its
calls use instead of the operator's. Nobody can read it again.`,
    examples: [
      [
        "sealgate secrets set github --origin https://api.githubcopilot.com < token.txt",
        "Or pipe it from a password manager",
      ],
      ["sealgate secrets set openai --provider provider1 < key.txt", "Your own key of provider 1"],
      ["sealgate secrets set github --origin https://example.com --json < token.txt", "For programs"],
    ],
    exits: { 0: "the secret is set" },
    next: '`"secret": "github"` in a tool or MCP server of an agent sends it.',
  }),
)

const removeCommand = Command.make("remove", { name, ...gatewayFlags }, ({ name, ...input }) =>
  askAndPrint(
    input,
    async (gateway, options) => {
      await gateway.secrets.remove(name, options)
      return { name }
    },
    ({ name }) => `Removed ${printableLine(name)}.`,
  ),
).pipe(
  withGatewayHelp({
    summary: "Remove a secret",
    description: "Removes a secret. Tools that name it can no longer be called.",
    examples: [
      ["sealgate secrets remove github", "Within a second"],
      ["sealgate secrets remove github --json", "For programs: the name"],
    ],
    exits: { 0: "the secret is removed" },
  }),
)

export const secretsCommand = Command.make(
  "secrets",
  gatewayFlags,
  Effect.fn(function* (input) {
    const gateway = yield* connect(input.gateway)
    const items = yield* ask((signal) => gateway.secrets.list({ signal }))
    yield* printList(items, {
      json: input.json,
      none: "No secrets yet: `sealgate secrets set NAME --origin URL < FILE` sets one.",
      columns: ["NAME", "FOR", "SET"],
      row: (item) => [item.name, placeOf(item), item.updated_at],
    })
  }),
).pipe(
  withGatewayHelp({
    summary: "List, set and remove secrets of tools, and keys of providers",
    description: `Lists the secrets of your tenant on a gateway, without their values: bearer tokens that tools send to one origin, and your
own keys of model providers. Your token needs the role manage.`,
    examples: [
      ["sealgate secrets", "Names, and where each is sent"],
      [
        "sealgate secrets set github --origin https://api.githubcopilot.com < token.txt",
        "From a file or a password manager",
      ],
    ],
    next: "`sealgate audit` shows who set and removed secrets.",
  }),
  Command.withSubcommands([setCommand, removeCommand]),
)
