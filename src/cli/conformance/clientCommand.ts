import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { intText } from "../../layers/config/codecs.ts"
import { unusable } from "../CommandFailed.ts"
import { portFlag, valueFlag } from "../flags.ts"
import { withHelp } from "../help/Guide.ts"
import { printableJson } from "../printable.ts"
import { kitFlags } from "./flags.ts"
import { select, printList, printReport, progress } from "./report.ts"

const MAX_AT_ONCE = 64

export const conformanceClientCommand = Command.make(
  "client",
  {
    command: Argument.String("command").pipe(
      Argument.withDescription("After --: your client and its arguments, run once for each case"),
      Argument.variadic(),
    ),
    port: portFlag("a free one"),
    atOnce: valueFlag(
      "at-once",
      "number",
      "How many runs of your command at once (default 2)",
      intText(1, MAX_AT_ONCE),
    ).pipe(Flag.withDefault(2)),
    ...kitFlags,
  },
  Effect.fn(function* (input) {
    // Loaded on demand, because no other command needs it.
    const { CASES } = yield* Effect.promise(() => import("../../conformance/client/cases/all.ts"))
    const { serveCases } = yield* Effect.promise(() => import("../../conformance/client/CaseServer.ts"))
    const { makeVerdictEndpoints } = yield* Effect.promise(() => import("../../conformance/client/verdictEndpoints.ts"))
    const { commandTester } = yield* Effect.promise(() => import("../../conformance/client/commandTester.ts"))
    const { runCases } = yield* Effect.promise(() => import("../../conformance/client/runCases.ts"))
    const cases = yield* select(CASES, input.only)
    if (input.list) return yield* printList(cases, input.json)
    const port = Option.getOrElse(input.port, () => 0)
    const server = yield* Effect.acquireRelease(
      Effect.tryPromise({
        try: () => serveCases(cases, port, makeVerdictEndpoints(cases)),
        catch: () => unusable(`Cannot listen on port ${port}; give another --port.`),
      }),
      ({ close }) => Effect.promise(close),
    )
    if (input.command.length === 0) {
      const { pin, text, url } = server
      yield* Console.log(
        input.json
          ? printableJson({ url, pin, text })
          : `pin:    ${pin}\ncases:  ${url}/\nreport: ${url}/report\nA client that believes an answer prints: ${text}\nCtrl-C stops the server.`,
      )
      return yield* Effect.never
    }
    const tester = commandTester(input.command)
    const report = yield* runCases(server, cases, {
      tester,
      concurrency: input.atOnce,
      onResult: progress(),
    }).pipe(
      Effect.catchTag("NotStarted", ({ reason }) =>
        unusable(`The command after -- cannot be started: ${reason}. Check its path and that it is executable.`),
      ),
    )
    yield* printReport(report, input.json, input.all)
  }, Effect.scoped),
).pipe(
  withHelp({
    summary: "Test a client against honest and hostile proxies",
    description: `Starts a server on this machine that plays a few honest proxies and several hundred hostile ones, each at a separate path, and
reports which of them a client believed. The command after -- requests one completion and runs once per case. {url}, {pin} and
{form} in its arguments are replaced; SEALGATE_PROXY, SEALGATE_PIN and SEALGATE_FORM hold the same values. Exit code 0 means
that it believed the answer and printed it to standard output; any other code means that it refused.

Without a command, it serves until stopped: ${"`GET /`"} lists the cases and explains how to report your client's results.`,
    examples: [
      ["sealgate conformance client -- python3 client.py {url} {pin}", "A client that is a command"],
      ["sealgate conformance client -- ./client {url} {pin} --form {form}", "A client that has both forms"],
      ["sealgate conformance client --port 4000", "For a client in a browser, or tests by hand"],
    ],
    exits: {
      0: "the client believed every honest proxy and no hostile one",
      1: "it refused an honest proxy or believed a hostile one",
    },
    next: "See docs/reference/conformance.md. The command may take at most 30 s per case.",
  }),
)
