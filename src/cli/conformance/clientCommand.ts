import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { isMeant } from "../../conformance/report.ts"
import { parsed } from "../../layers/config/codecs.ts"
import { unusable } from "../CommandFailed.ts"
import { portFlag } from "../flags.ts"
import { INTERRUPTED, MISUSED, withGuide } from "../help/Guide.ts"
import { printableJson } from "../printable.ts"
import { kitFlags, NOT_FOUND } from "./flags.ts"
import { meant, printList, printReport, progress } from "./report.ts"

const MAX_AT_ONCE = 64

const AtOnceText = parsed(
  Schema.Number,
  (text) => (/^[1-9]\d?$/.test(text) && Number(text) <= MAX_AT_ONCE ? Number(text) : undefined),
  `a number from 1 to ${MAX_AT_ONCE}`,
)

export const conformanceClientCommand = Command.make(
  "client",
  {
    command: Argument.String("command").pipe(
      Argument.withDescription("After --: your client and its arguments, run once for each case"),
      Argument.variadic(),
    ),
    port: portFlag("a free one"),
    atOnce: Flag.String("at-once").pipe(
      Flag.withMetavar("number"),
      Flag.withDescription("How many of your command run at once (default 2)"),
      Flag.withDefault("2"),
      Flag.withSchema(AtOnceText),
    ),
    ...kitFlags,
  },
  Effect.fn(function* (input) {
    // Loaded here, because nothing else needs it.
    const { CASES } = yield* Effect.promise(() => import("../../conformance/client/cases/all.ts"))
    const { serveCases } = yield* Effect.promise(() => import("../../conformance/client/CaseServer.ts"))
    const { makeDesk } = yield* Effect.promise(() => import("../../conformance/client/desk.ts"))
    const { commandTester } = yield* Effect.promise(() => import("../../conformance/client/commandTester.ts"))
    const { runCases } = yield* Effect.promise(() => import("../../conformance/client/runCases.ts"))
    const cases = yield* Effect.mapError(
      Effect.fromOption(meant(CASES, (subject) => isMeant(subject, input.only))),
      () => unusable(NOT_FOUND),
    )
    if (input.list) return yield* printList(cases, input.json)
    const port = Option.getOrElse(input.port, () => 0)
    const server = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => serveCases(cases, port, makeDesk(cases)),
        catch: () => unusable(`Port ${port} cannot be listened on.`),
      }),
      ({ close }) => Effect.promise(close),
    )
    if (input.command.length === 0) {
      const { pin, text, url } = server
      yield* Console.log(
        input.json
          ? printableJson({ url, pin, text })
          : `pin:    ${pin}\ncases:  ${url}/\nreport: ${url}/report\nWho believes an answer shows: ${text}\nCtrl-C ends it.`,
      )
      return yield* Effect.never
    }
    const tester = commandTester(input.command)
    const report = yield* runCases(server, cases, {
      tester,
      concurrency: input.atOnce,
      onResult: progress(),
    })
    yield* printReport(report, input.json, input.all)
  }, Effect.scoped),
).pipe(
  Command.withShortDescription("Play honest and hostile proxies to a client"),
  Command.withDescription(
    `Starts a server on this machine that plays an honest proxy in some ways and a hostile one in some hundreds, each at a path of its
own, and says which of them a client believed. After -- comes a command that asks for one completion; it is run once for each
case. {url}, {pin} and {form} in its arguments are filled in, as SEALGATE_PROXY, SEALGATE_PIN and SEALGATE_FORM are. Exit code 0
says that it believed the answer, which is then on its standard output; any other code that it refused.

Without a command it serves until it is stopped: ${"`GET /`"} lists the cases, and says where to tell what your client made of each.`,
  ),
  Command.withExamples([
    {
      command: "sealgate conformance client -- python3 client.py {url} {pin}",
      description: "A client that is a command",
    },
    {
      command: "sealgate conformance client -- ./client {url} {pin} --form {form}",
      description: "One that has both forms",
    },
    { command: "sealgate conformance client --port 4000", description: "For a client in a browser, or by hand" },
  ]),
  withGuide({
    exits: {
      0: "every honest proxy was believed, and no other",
      1: "one was not, or one too many",
      2: MISUSED,
      130: INTERRUPTED,
    },
    next: "docs/conformance.md says more. No command may take longer than 30 s for a case.",
  }),
)
