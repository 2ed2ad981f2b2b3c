import { Console, Effect, Option } from "effect"
import { Command } from "effect/cli"
import { CommandFailed } from "./CommandFailed.ts"
import { credentialFileFlag, ENVIRONMENT } from "./credential.ts"
import { type Finding, isWell } from "./doctor/Finding.ts"
import { jsonFlag, optionalFlag, pinsFlag, proxyFlag, switchFlag } from "./flags.ts"
import { ServerUrlText } from "../layers/config/codecs.ts"
import { proxyAndPins, trustedProxy } from "./settings/proxyAddress.ts"
import { policyFlags, rulesFrom } from "./attest/policyFlags.ts"
import { caFlag } from "./inputFile.ts"
import { withHelp } from "./help/Guide.ts"
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
  if (errors > 0) return bold(red(`Errors: ${errors}${warnings > 0 ? `, warnings: ${warnings}` : ""}.`))
  if (warnings > 0) return bold(`It works; warnings: ${warnings}.`)
  return bold(called ? "Everything works." : "The proxy works. Its providers were not called; --call tests them.")
}

export const doctorCommand = Command.make(
  "doctor",
  {
    proxy: proxyFlag,
    pin: pinsFlag,
    ...policyFlags,
    ca: caFlag,
    operator: optionalFlag(
      "operator",
      "url",
      "URL of the operator's listener, which reports more: providers, keys, sessions, TLS files",
      ServerUrlText,
    ),
    call: switchFlag("call", "Also send each provider one tiny sealed request, which may cost money; needs a pin"),
    credentialFile: credentialFileFlag,
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* (input) {
    const { pins, proxy } = yield* input.call
      ? trustedProxy({ ...input, trustOnFirstUse: false, policy: Option.none() })
      : proxyAndPins(input)
    const { examineDeployment } = yield* Effect.promise(() => import("./doctor/examineDeployment.ts"))
    const findings = yield* examineDeployment({ ...input, proxy, pins, rules: yield* rulesFrom(input) })
    const well = isWell(findings)
    yield* Console.log(
      input.json
        ? printableJson({ proxy, ok: well, findings })
        : [...findings.map(describe), "", verdict(findings, input.call)].join("\n"),
    )
    if (!well) return yield* new CommandFailed({ message: "", exitCode: 1 })
  }),
).pipe(
  withHelp({
    summary: "Examine a deployment of the proxy",
    description: `Checks a running proxy from a client's side and says what to fix, for operators and for clients whose requests fail:
address, reachability, certificate, pin, signature of the session offer, clocks, readiness of providers, storage of
keys, limits. --policy checks the evidence of the code too, and warns of what expires. --operator adds what only the operator may see. It begins one session and sends no prompt, except with
--call: then each provider gets one tiny request.`,
    examples: [
      ["sealgate doctor --proxy https://proxy.example.com --pin <pin>", "Before going live"],
      ["sealgate doctor --proxy http://localhost:3001", "Why does it not answer?"],
      ["sealgate doctor --call", "Do the keys of its providers work?"],
      ["sealgate doctor --proxy http://localhost:3001 --json", "For programs"],
    ],
    environment: ENVIRONMENT,
    exits: { 0: "a client can use it; there may be warnings", 1: "something must be fixed" },
    next: "Below each problem, an arrow shows how to fix it.",
  }),
)
