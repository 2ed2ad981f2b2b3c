import { Console, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, unusable } from "./CommandFailed.ts"
import type { Finding } from "./doctor/Finding.ts"
import { examineReadiness } from "./doctor/examineReadiness.ts"
import { examineSession } from "./doctor/examineSession.ts"
import { examineTransport } from "./doctor/examineTransport.ts"
import { jsonFlag, pinsFlag, proxyFlag } from "./flags.ts"
import { UrlText } from "../layers/config/codecs.ts"
import { proxyAndPins } from "./settings/proxyAddress.ts"
import { INTERRUPTED, MISUSED, withGuide } from "./help/Guide.ts"
import { printableJson, printableLine } from "./printable.ts"
import { bold, dim, green, red, yellow } from "./terminal.ts"

const MARKS = { ok: green("✓"), warning: yellow("!"), error: red("✗") }

const describe = ({ fix, level, says }: Finding): string => {
  const what = `${MARKS[level]} ${printableLine(says)}`
  return fix === undefined ? what : `${what}\n  ${dim(`→ ${printableLine(fix)}`)}`
}

const verdict = (findings: ReadonlyArray<Finding>): string => {
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length
  const [errors, warnings] = [count("error"), count("warning")]
  if (errors > 0) return bold(red(`${errors} to mend${warnings > 0 ? `, ${warnings} to consider` : ""}.`))
  return bold(warnings > 0 ? `It works; ${warnings} to consider.` : "All is well.")
}

/** The proxy's address as the base of its paths. */
const asBase = (proxy: URL): URL => new URL(proxy.href.endsWith("/") ? proxy.href : `${proxy.href}/`)

export const doctorCommand = Command.make(
  "doctor",
  {
    proxy: proxyFlag,
    pin: pinsFlag,
    ca: Flag.String("ca").pipe(
      Flag.withMetavar("file"),
      Flag.withDescription(
        "PEM file of certificate authorities to believe beside the public ones, for a CA of your own",
      ),
      Flag.optional,
    ),
    operator: Flag.String("operator").pipe(
      Flag.withMetavar("url"),
      Flag.withDescription("Address of the operator's listener, to be told more: providers, keys, sessions, TLS files"),
      Flag.withSchema(UrlText),
      Flag.optional,
    ),
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* (input) {
    const files = yield* FileSystem.FileSystem
    const ca = Option.isNone(input.ca)
      ? undefined
      : yield* Effect.mapError(files.readFileString(input.ca.value), () => unusable("The file of --ca cannot be read."))
    const { pins, proxy: given } = yield* proxyAndPins(input)
    const proxy = asBase(given)
    const { findings: transport, reached } = yield* examineTransport(proxy, ca)
    const findings = reached
      ? [
          ...transport,
          ...(yield* examineSession(proxy, pins, ca)),
          ...(yield* examineReadiness(proxy, Option.map(input.operator, asBase), ca)),
        ]
      : transport
    const well = findings.every(({ level }) => level !== "error")
    yield* Console.log(
      input.json
        ? printableJson({ proxy: given, ok: well, findings })
        : [...findings.map(describe), "", verdict(findings)].join("\n"),
    )
    if (!well) return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  Command.withShortDescription("Examine a deployment of the proxy"),
  Command.withDescription(
    `Looks at a running proxy as a client sees it and says what to mend, for operators and for clients whose requests fail:
address, reachability, certificate, pin, signature of the session offer, clocks, readiness of providers, storage of
keys, limits. What is told to its operator alone comes from --operator. It begins one session and sends no prompt.`,
  ),
  Command.withExamples([
    { command: "sealgate doctor --proxy https://proxy.example.com --pin <pin>", description: "Before going live" },
    { command: "sealgate doctor --proxy http://localhost:3001", description: "Why does it not answer?" },
    { command: "sealgate doctor --proxy http://localhost:3001 --json", description: "For programs" },
  ]),
  withGuide({
    exits: {
      0: "a client can work with it, warnings or not",
      1: "something must be mended",
      2: MISUSED,
      130: INTERRUPTED,
    },
    next: "Each line that is not well says below it, after an arrow, what mends it.",
  }),
)
