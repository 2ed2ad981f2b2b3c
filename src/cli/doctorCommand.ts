import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed } from "./CommandFailed.ts"
import { credentialFileFlag, ENVIRONMENT } from "./credential.ts"
import { type Finding, isWell } from "./doctor/Finding.ts"
import { jsonFlag, pinsFlag, proxyFlag } from "./flags.ts"
import { UrlText } from "../layers/config/codecs.ts"
import { proxyAndPins, trustedProxy } from "./settings/proxyAddress.ts"
import { INTERRUPTED, MISUSED, withGuide } from "./help/Guide.ts"
import { printableJson, printableLine } from "./printable.ts"
import { bold, dim, green, red, yellow } from "./terminal.ts"

const MARKS = { ok: green("✓"), warning: yellow("!"), error: red("✗") }

const describe = ({ fix, level, says }: Finding): string => {
  const what = `${MARKS[level]} ${printableLine(says)}`
  return fix === undefined ? what : `${what}\n  ${dim(`→ ${printableLine(fix)}`)}`
}

/** Without a call, the path from the proxy to its providers was not tested. */
const verdict = (findings: ReadonlyArray<Finding>, called: boolean): string => {
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length
  const [errors, warnings] = [count("error"), count("warning")]
  if (errors > 0) return bold(red(`${errors} to fix${warnings > 0 ? `, ${warnings} to consider` : ""}.`))
  if (warnings > 0) return bold(`It works; ${warnings} to consider.`)
  return bold(called ? "All is well." : "The proxy is well. Its providers were not called; --call does that.")
}

export const doctorCommand = Command.make(
  "doctor",
  {
    proxy: proxyFlag,
    pin: pinsFlag,
    ca: Flag.String("ca").pipe(
      Flag.withMetavar("file"),
      Flag.withDescription("PEM file of certificate authorities to trust beside the public ones"),
      Flag.optional,
    ),
    operator: Flag.String("operator").pipe(
      Flag.withMetavar("url"),
      Flag.withDescription("URL of the operator's listener, which reports more: providers, keys, sessions, TLS files"),
      Flag.withSchema(UrlText),
      Flag.optional,
    ),
    call: Flag.Boolean("call").pipe(
      Flag.withDescription("Also send each provider one tiny sealed request, which may cost money; needs a pin"),
      Flag.withDefault(false),
    ),
    credentialFile: credentialFileFlag,
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* (input) {
    const { pins, proxy } = yield* input.call ? trustedProxy({ ...input, trustOnFirstUse: false }) : proxyAndPins(input)
    const { examineDeployment } = yield* Effect.promise(() => import("./doctor/examineDeployment.ts"))
    const findings = yield* examineDeployment({ ...input, proxy, pins })
    const well = isWell(findings)
    yield* Console.log(
      input.json
        ? printableJson({ proxy, ok: well, findings })
        : [...findings.map(describe), "", verdict(findings, input.call)].join("\n"),
    )
    if (!well) return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  Command.withShortDescription("Examine a deployment of the proxy"),
  Command.withDescription(
    `Checks a running proxy from a client's side and says what to fix, for operators and for clients whose requests fail:
address, reachability, certificate, pin, signature of the session offer, clocks, readiness of providers, storage of
keys, limits. --operator adds what only the operator may see. It begins one session and sends no prompt, except with
--call: then each provider gets one tiny request.`,
  ),
  Command.withExamples([
    { command: "sealgate doctor --proxy https://proxy.example.com --pin <pin>", description: "Before going live" },
    { command: "sealgate doctor --proxy http://localhost:3001", description: "Why does it not answer?" },
    { command: "sealgate doctor --call", description: "Do the keys of its providers work?" },
    { command: "sealgate doctor --proxy http://localhost:3001 --json", description: "For programs" },
  ]),
  withGuide({
    environment: ENVIRONMENT,
    exits: {
      0: "a client can use it; there may be warnings",
      1: "something must be fixed",
      2: MISUSED,
      130: INTERRUPTED,
    },
    next: "Below each problem, an arrow shows how to fix it.",
  }),
)
