import { text } from "node:stream/consumers"
import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { clientError } from "../client/clientError.ts"
import type { SealedClient as Client } from "../client/sealed/SealedClient.ts"
import { CHAT_APIS, Conversation } from "./chat/Conversation.ts"
import { greeting, interactive } from "./chat/interactive.ts"
import { explained, STARTS_OVER, summary } from "./chat/answerText.ts"
import { CommandFailed, unusable } from "./CommandFailed.ts"
import { credentialFileFlag, credentialFrom, ENVIRONMENT } from "./credential.ts"
import { givenOf, jsonFlag, optionalFlag, pinsFlag, proxyFlag, trustOnFirstUseFlag } from "./flags.ts"
import { policyFlags, policyFrom } from "./attest/policyFlags.ts"
import { withHelp } from "./help/Guide.ts"
import { printable, printableJson } from "./printable.ts"
import { trustedProxy } from "./settings/proxyAddress.ts"
import { dim, dimOnStderr } from "./terminal.ts"

const attempt = <A>(f: (signal: AbortSignal) => Promise<A>) =>
  Effect.mapError(
    Effect.tryPromise({ try: f, catch: clientError }),
    (error) => new CommandFailed({ message: explained(error), exitCode: 1 }),
  )

/** Asks once. A terminal shows the answer as it arrives; a pipe gets it only verified, because output cannot be recalled. */
const once = Effect.fnUntraced(function* (conversation: Conversation, client: Client, question: string, json: boolean) {
  const live = process.stdout.isTTY && !json
  const show = {
    text: (piece: string) => {
      if (live) process.stdout.write(printable(piece))
    },
    startOver: () => {
      if (live) process.stdout.write(dim(STARTS_OVER))
    },
  }
  const { end, text } = yield* attempt((signal) => conversation.ask(question, show, signal))
  if (json) return yield* Console.log(printableJson({ ...end, ...client.keySet }))
  const message = "completion" in end ? end.completion.choices[0]?.message : undefined
  yield* Console.log(live ? "" : text !== "" || message === undefined ? text : JSON.stringify(message))
  yield* Console.error(dimOnStderr(summary(end)))
})

export const chatCommand = Command.make(
  "chat",
  {
    prompt: Argument.String("prompt").pipe(
      Argument.withDescription(
        "Ask this and exit. Without it, standard input is the prompt, or a chat begins at the terminal",
      ),
      Argument.optional,
    ),
    proxy: proxyFlag,
    pin: pinsFlag,
    trustOnFirstUse: trustOnFirstUseFlag,
    ...policyFlags,
    credentialFile: credentialFileFlag,
    api: Flag.Literals("api", CHAT_APIS).pipe(
      Flag.withDescription("API to use; a provider of the proxy must speak it (default chat.completions)"),
      Flag.withDefault(CHAT_APIS[0]),
    ),
    model: optionalFlag("model", "name", "Model to use (default: the proxy's default for the provider)", Schema.String),
    provider: optionalFlag(
      "provider",
      "name",
      "Provider of the proxy that must serve it, such as provider1 (default any)",
      Schema.String,
    ),
    system: optionalFlag("system", "text", "System prompt (default none)", Schema.String),
    json: jsonFlag(
      "Print the verified answer with receipt, proof and evidence as JSON, for `sealgate verify`; errors are text on " +
        "standard error",
    ),
  },
  Effect.fn(function* (input) {
    const { pins, proxy } = yield* trustedProxy(input)
    const { SealedClient } = yield* Effect.promise(() => import("../client/sealed/SealedClient.ts"))
    const client = new SealedClient({
      baseUrl: proxy,
      pins,
      trustOnFirstUse: input.trustOnFirstUse,
      ...(yield* policyFrom(input)),
      ...(yield* credentialFrom(input.credentialFile)),
    })
    const conversation = new Conversation(client, {
      api: input.api,
      ...givenOf({ model: input.model, provider: input.provider, system: input.system }),
    })
    if (Option.isNone(input.prompt) && process.stdin.isTTY) {
      if (input.json) return yield* unusable("--json prints a single answer and needs a prompt; give one.")
      const { stdin, stdout } = process
      yield* Console.log(dim(greeting(proxy)))
      return yield* attempt((signal) => interactive(conversation, { input: stdin, output: stdout }, signal))
    }
    const question = Option.isSome(input.prompt) ? input.prompt.value : yield* Effect.promise(() => text(process.stdin))
    if (question.trim() === "") return yield* unusable("There is nothing to ask: give a prompt.")
    yield* once(conversation, client, question, input.json)
  }),
).pipe(
  withHelp({
    summary: "Chat with a model through a sealed proxy",
    description: `Asks a model through a sealed proxy, for people and scripts. After each answer it confirms that receipt and proof were
verified, and shows the provider, the model and the tokens used.

At a terminal it chats: Ctrl-C stops an answer; a second Ctrl-C, Ctrl-D or /exit leaves. With a prompt, or with standard
input from elsewhere, it asks once. It needs a pin, a policy or --trust-on-first-use. For a proxy on this machine, the key in this folder is the pin.`,
    examples: [
      ['sealgate chat "What is HPKE?"', "Ask the proxy that runs from this folder"],
      ["sealgate chat --proxy https://proxy.example.com --pin <pin>", "Chat through another proxy"],
      [
        "cat notes.txt | sealgate chat --proxy http://localhost:3001 --pin <pin> \\\n" +
          "    --system 'Summarise.' --json > answer.json",
        "Keep the answer with its evidence",
      ],
    ],
    environment: ENVIRONMENT,
    exits: { 0: "the answer was verified, or you left the chat", 1: "no verified answer" },
    next:
      "`sealgate verify answer.json --pin <pin>` shows what an answer kept with --json proves. `sealgate connect` seals for " +
      "other programs. If nothing answers: `sealgate doctor --proxy <url>`.",
  }),
)
