import { Duration, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { intText, ServerUrlText } from "../../layers/config/codecs.ts"
import { credentialFileFlag, credentialNow, ENVIRONMENT } from "../credential.ts"
import { pinsFlag, valueFlag } from "../flags.ts"
import { caFlag, readCa } from "../inputFile.ts"
import { withHelp } from "../help/Guide.ts"
import { trustedProxy } from "../settings/proxyAddress.ts"
import { kitFlags } from "./flags.ts"
import { select, printList, printReport, progress } from "./report.ts"

export const conformanceProxyCommand = Command.make(
  "proxy",
  {
    url: Argument.String("url").pipe(
      Argument.withDescription("URL of the server (default SEALGATE_PROXY, else http://localhost:3001)"),
      Argument.withSchema(ServerUrlText),
      Argument.optional,
    ),
    pin: pinsFlag,
    credentialFile: credentialFileFlag,
    ca: caFlag,
    limit: valueFlag(
      "limit",
      "seconds",
      "Time limit for all checks; the remaining ones are skipped (default 300)",
      intText(1, 9999),
    ).pipe(Flag.withDefault(300)),
    profile: Flag.Literals("profile", ["core", "full"]).pipe(
      Flag.withDescription("core omits checks that depend on models and providers; default full"),
      Flag.withDefault("full"),
    ),
    ...kitFlags,
  },
  Effect.fn(function* (input) {
    // Loaded on demand, because no other command needs it.
    const { checksOf } = yield* Effect.promise(() => import("../../conformance/proxy/checks/all.ts"))
    const { runChecks } = yield* Effect.promise(() => import("../../conformance/proxy/runChecks.ts"))
    const checks = yield* select(checksOf(input.profile), input.only)
    if (input.list) return yield* printList(checks, input.json)
    const { pins, proxy } = yield* trustedProxy({ proxy: input.url, pin: input.pin, trustOnFirstUse: false })
    const ca = Option.isNone(input.ca) ? undefined : yield* readCa(input.ca.value)
    const target = { url: proxy, pins, credential: yield* credentialNow(input.credentialFile), ca }
    const report = yield* runChecks(target, checks, { limit: Duration.seconds(input.limit), onResult: progress() })
    yield* printReport(report, input.json, input.all)
  }),
).pipe(
  withHelp({
    summary: "Check a server against the protocol",
    description: `Checks any server of the sealed completion protocol against every rule of docs/protocol that is observable from outside, and
reports what it observed. It begins some dozens of sessions and sends several hundred sealed requests. Most fail before a
provider is called; fewer than twenty reach one. If the server limits its rate, it waits.`,
    examples: [
      ["sealgate conformance proxy http://localhost:3001 --pin <pin>", "All checks"],
      ["sealgate conformance proxy http://localhost:3001 --pin <pin> --only P17", "One rule"],
      ["sealgate conformance proxy --list", "List the checks"],
    ],
    environment: ENVIRONMENT,
    exits: { 0: "nothing failed", 1: "something failed" },
    next: "docs/reference/conformance.md lists the checks, and the rules that cannot be observed from outside.",
  }),
)
