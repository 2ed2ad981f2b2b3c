import { getCACertificates, setDefaultCACertificates } from "node:tls"
import { Console, Effect, FileSystem, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { CommandFailed, unusable } from "./CommandFailed.ts"
import { SealedClient } from "../client/SealedClient.ts"
import { credentialFileFlag, credentialFrom, ENVIRONMENT } from "./credential.ts"
import { type Finding, warning } from "./doctor/Finding.ts"
import { examineCalls } from "./doctor/examineCalls.ts"
import { examineReadiness } from "./doctor/examineReadiness.ts"
import { examineSession } from "./doctor/examineSession.ts"
import { examineTransport } from "./doctor/examineTransport.ts"
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

const verdict = (findings: ReadonlyArray<Finding>): string => {
  const count = (level: Finding["level"]) => findings.filter((finding) => finding.level === level).length
  const [errors, warnings] = [count("error"), count("warning")]
  if (errors > 0) return bold(red(`${errors} to mend${warnings > 0 ? `, ${warnings} to consider` : ""}.`))
  return bold(warnings > 0 ? `It works; ${warnings} to consider.` : "All is well.")
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

const isWell = (findings: ReadonlyArray<Finding>): boolean => findings.every(({ level }) => level !== "error")

/** Believes the authorities in a file, beside those that this process believes anyway, until the scope closes. */
const alsoTrust = Effect.fnUntraced(function* (file: string) {
  const files = yield* FileSystem.FileSystem
  const pem = yield* Effect.mapError(files.readFileString(file), () => unusable("The file of --ca cannot be read."))
  const certificates = pem.match(CERTIFICATE)
  if (certificates === null) return yield* unusable("The file of --ca holds no certificate in PEM form.")
  const before = getCACertificates("default")
  yield* Effect.acquireRelease(
    Effect.sync(() => setDefaultCACertificates([...before, ...certificates])),
    () => Effect.sync(() => setDefaultCACertificates(before)),
  )
})

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
    call: Flag.Boolean("call").pipe(
      Flag.withDescription(
        "Also send each provider one tiny request, sealed, which costs what it costs; it needs a pin",
      ),
      Flag.withDefault(false),
    ),
    credentialFile: credentialFileFlag,
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* (input) {
    if (Option.isSome(input.ca)) yield* alsoTrust(input.ca.value)
    const { pins, proxy: given } = yield* input.call
      ? trustedProxy({ ...input, trustOnFirstUse: false })
      : proxyAndPins(input)
    const proxy = asBase(given)
    const { findings, reached } = yield* examineTransport(proxy)
    if (reached) {
      findings.push(...(yield* examineSession(proxy, pins)))
      findings.push(...(yield* examineReadiness(proxy, Option.map(input.operator, asBase))))
    }
    if (input.call && isWell(findings)) {
      const client = new SealedClient({ baseUrl: given, pins, ...(yield* credentialFrom(input.credentialFile)) })
      findings.push(...(yield* examineCalls(proxy, client)))
    } else if (input.call) {
      findings.push(warning("calls", "No provider was called.", "Mend what was found first."))
    }
    const well = isWell(findings)
    yield* Console.log(
      input.json
        ? printableJson({ proxy: given, ok: well, findings })
        : [...findings.map(describe), "", verdict(findings)].join("\n"),
    )
    if (!well) return yield* new CommandFailed({ message: "", exitCode: 1 })
  }, Effect.scoped),
).pipe(
  Command.withShortDescription("Examine a deployment of the proxy"),
  Command.withDescription(
    `Looks at a running proxy as a client sees it and says what to mend, for operators and for clients whose requests fail:
address, reachability, certificate, pin, signature of the session offer, clocks, readiness of providers, storage of
keys, limits. What is told to its operator alone comes from --operator. It begins one session, and sends no prompt but with
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
      0: "a client can work with it, warnings or not",
      1: "something must be mended",
      2: MISUSED,
      130: INTERRUPTED,
    },
    next: "Each line that is not well says below it, after an arrow, what mends it.",
  }),
)
