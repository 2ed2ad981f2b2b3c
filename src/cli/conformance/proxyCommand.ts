import { Duration, Effect, FileSystem, Option, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { isMeant } from "../../conformance/report.ts"
import { parsed, UrlText } from "../../layers/config/codecs.ts"
import { unusable } from "../CommandFailed.ts"
import { credentialFileFlag, credentialNow, ENVIRONMENT } from "../credential.ts"
import { pinsFlag } from "../flags.ts"
import { INTERRUPTED, MISUSED, withGuide } from "../help/Guide.ts"
import { trustedProxy } from "../settings/proxyAddress.ts"
import { kitFlags, NOT_FOUND } from "./flags.ts"
import { meant, printList, printReport, progress } from "./report.ts"

const SecondsText = parsed(
  Schema.Number,
  (text) => (/^[1-9]\d{0,3}$/.test(text) ? Number(text) : undefined),
  "a whole number of seconds, at most 9999",
)

export const conformanceProxyCommand = Command.make(
  "proxy",
  {
    url: Argument.String("url").pipe(
      Argument.withDescription("URL of the server (default SEALGATE_PROXY, else http://localhost:3001)"),
      Argument.withSchema(UrlText),
      Argument.optional,
    ),
    pin: pinsFlag,
    credentialFile: credentialFileFlag,
    ca: Flag.String("ca").pipe(
      Flag.withMetavar("file"),
      Flag.withDescription("PEM file of certificate authorities to trust beside the public ones"),
      Flag.optional,
    ),
    limit: Flag.String("limit").pipe(
      Flag.withMetavar("seconds"),
      Flag.withDescription("Time limit for all checks; the remaining ones are skipped (default 300)"),
      Flag.withDefault("300"),
      Flag.withSchema(SecondsText),
    ),
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
    const checks = yield* Effect.mapError(
      Effect.fromOption(meant(checksOf(input.profile), (check) => isMeant(check, input.only))),
      () => unusable(NOT_FOUND),
    )
    if (input.list) return yield* printList(checks, input.json)
    const { pins, proxy } = yield* trustedProxy({ proxy: input.url, pin: input.pin, trustOnFirstUse: false })
    const files = yield* FileSystem.FileSystem
    const ca = Option.isNone(input.ca)
      ? undefined
      : yield* Effect.mapError(files.readFileString(input.ca.value), () =>
          unusable("The file of --ca cannot be read. Check its path and permissions."),
        )
    const target = { url: proxy, pins, credential: yield* credentialNow(input.credentialFile), ca }
    const report = yield* runChecks(target, checks, { limit: Duration.seconds(input.limit), onResult: progress() })
    yield* printReport(report, input.json, input.all)
  }),
).pipe(
  Command.withShortDescription("Check a server against the protocol"),
  Command.withDescription(
    `Checks any server of the sealed completion protocol against every rule of docs/protocol that is observable from outside, and
reports what it observed. It begins some dozens of sessions and sends several hundred sealed requests. Most fail before a
provider is called; fewer than twenty reach one. If the server limits its rate, it waits.`,
  ),
  Command.withExamples([
    { command: "sealgate conformance proxy http://localhost:3001 --pin <pin>", description: "All checks" },
    { command: "sealgate conformance proxy http://localhost:3001 --pin <pin> --only P17", description: "One rule" },
    { command: "sealgate conformance proxy --list", description: "List the checks" },
  ]),
  withGuide({
    environment: ENVIRONMENT,
    exits: { 0: "nothing failed", 1: "something failed", 2: MISUSED, 130: INTERRUPTED },
    next: "docs/reference/conformance.md lists the checks, and the rules that cannot be observed from outside.",
  }),
)
