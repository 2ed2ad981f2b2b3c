import { Console, Effect, Option, Schema } from "effect"
import { Argument, Command } from "effect/cli"
import { isObject } from "../domain/json/json.ts"
import { SealgateError } from "../client/errors.ts"
import { readBody } from "../client/transport/transport.ts"
import { fromUtf8 } from "../domain/bytes/bytes.ts"
import { parseIJson } from "../domain/json/iJson.ts"
import { CommandFailed, unusable } from "./CommandFailed.ts"
import { jsonFlag, optionalFlag, pinsFlag } from "./flags.ts"
import { codeSentence } from "./attest/describeCode.ts"
import { acceptFlag } from "./attest/showCommand.ts"
import { policyFlags, rulesFrom } from "./attest/policyFlags.ts"
import { readInput } from "./inputFile.ts"
import { attestationKeyFile } from "./settings/ownKey.ts"
import { folderPin } from "./settings/proxyAddress.ts"
import { withHelp } from "./help/Guide.ts"
import { printableJson, printableLine } from "./printable.ts"
import { red } from "./terminal.ts"
import { check, trustFor } from "./verify/check.ts"
import { readEvidence } from "./verify/Evidence.ts"
import { explain, kindOf } from "./verify/explain.ts"

const KEYS_TIMEOUT_MS = 10_000

const readText = Effect.fnUntraced(function* (path: string) {
  const bytes = yield* readInput(path)
  return yield* Effect.try({
    try: () => fromUtf8(bytes),
    catch: () => unusable(`${path} is not UTF-8.`),
  }).pipe(
    Effect.filterOrFail(
      (text) => !text.startsWith("\uFEFF"),
      () => unusable(`${path} begins with a byte order mark, so it was changed: save the output as it was printed.`),
    ),
  )
})

const isSealgateError = (error: unknown): error is SealgateError => error instanceof SealgateError

const isUrl = (text: string): boolean => /^https?:\/\//.test(text)

const fetchBytes = (url: string) =>
  Effect.tryPromise({
    try: async () => readBody(await fetch(url, { signal: AbortSignal.timeout(KEYS_TIMEOUT_MS) })),
    catch: () => unusable("The URL of --keys cannot be fetched. Check it."),
  })

const readKeys = Effect.fnUntraced(function* (source: string) {
  const json = yield* isUrl(source) ? fetchBytes(source) : readText(source)
  const set = yield* Effect.try({
    try: () => parseIJson(json),
    catch: () => unusable(`${source} is not a JWKS.`),
  })
  if (!isObject(set) || !Array.isArray(set["keys"])) return yield* unusable(`${source} is not a JWKS.`)
  return set["keys"] as ReadonlyArray<unknown>
})

type CodeInput = Parameters<typeof rulesFrom>[0] & { readonly accept: ReadonlyArray<string> }

/** The code that held the key `kid`. Without a policy it is printed but not judged. */
const codeIn = Effect.fnUntraced(function* (path: string, kid: string, input: CodeInput) {
  const { proveKept, readKept, rulesOf } = yield* Effect.promise(() => import("./attest/prove.ts"))
  const kept = yield* readKept(yield* readText(path), path)
  const rules = (yield* rulesFrom(input)) ?? (yield* rulesOf(kept, input.accept, Number.MAX_SAFE_INTEGER))
  const code = yield* proveKept(kept, rules)
  if (code.kid === kid) return code
  const message = `${path} is evidence of the key ${code.kid}, but the statement was signed by ${kid}.`
  return yield* new CommandFailed({ message, exitCode: 1 })
})

const orNotGenuine = (json: boolean) =>
  Effect.catchIf(isSealgateError, (error) =>
    Effect.andThen(
      Console.log(
        json
          ? printableJson({ valid: false, code: error.code, reason: error.message })
          : `${red("✗")} This is not genuine. ${printableLine(error.message)}`,
      ),
      Effect.fail(new CommandFailed({ message: "", exitCode: 1 })),
    ),
  )

export const verifyCommand = Command.make(
  "verify",
  {
    file: Argument.String("file").pipe(
      Argument.withDescription(
        "Output of `chat --json`, a file of `connect --receipts`, a receipt, a proof, or a recorded stream",
      ),
    ),
    pin: pinsFlag,
    keys: optionalFlag(
      "keys",
      "file|url",
      "Public keys (JWKS), if the file has none: a file, or a URL such as the proxy's /v1/keys",
      Schema.String,
    ),
    evidence: optionalFlag(
      "evidence",
      "file",
      "Kept evidence of the code (code-….json of `connect --receipts`): also shows which code held the signing key",
      Schema.String,
    ),
    accept: acceptFlag,
    ...policyFlags,
    json: jsonFlag("Print JSON"),
  },
  Effect.fn(function* (input) {
    const found = yield* Effect.flatMap(readText(input.file), readEvidence).pipe(orNotGenuine(input.json))
    const given = Option.isNone(input.keys) ? [] : yield* readKeys(input.keys.value)
    // Keys from a URL may have been replaced, so they count only if they are pinned.
    const fromUrl = Option.exists(input.keys, isUrl)
    const evidence = fromUrl ? { ...found, keys: [...found.keys, ...given] } : found
    const isPinned = input.pin.length > 0 || (given.length > 0 && !fromUrl)
    const pins = isPinned ? input.pin : yield* folderPin
    // A folder that came with the file may contain a key of its sender.
    const ownKey = isPinned || pins.length === 0 ? undefined : yield* attestationKeyFile
    const trust = yield* trustFor(evidence, pins, fromUrl ? [] : given)
    const verified = yield* check(evidence, trust).pipe(orNotGenuine(input.json))
    const code = Option.isNone(input.evidence) ? undefined : yield* codeIn(input.evidence.value, verified.kid, input)
    if (input.json) {
      const { kept: _, ...proven } = code ?? { kept: undefined }
      return yield* Console.log(
        printableJson({
          valid: true,
          kind: kindOf(verified),
          ...verified,
          ...(ownKey === undefined ? {} : { trusted_key: ownKey }),
          ...(code === undefined ? {} : { code: proven }),
        }),
      )
    }
    const more = [
      ...(code === undefined ? [] : [codeSentence(code)]),
      ...(ownKey === undefined ? [] : [`This holds if you created the key that it was checked with: ${ownKey}`]),
    ]
    yield* Console.log([explain(verified), ...more.map((line) => `  ${line}`)].join("\n"))
  }),
).pipe(
  withHelp({
    summary: "Verify a receipt, a proof or a revealed exchange",
    description: `Checks statements that a proxy signed, for anybody who received them as evidence: detects the kind of file, checks it
offline against the pins, and says what it proves and what it does not.

Public keys come with the file or from --keys and count only if they are pinned. Without --pin, a local file of keys
given with --keys is trusted, or else the key of the proxy in this folder.`,
    examples: [
      ["sealgate verify answer.json --pin <pin>", "Output of `chat --json > answer.json`"],
      ["sealgate verify receipts/0b9e….json --pin <pin>", "A receipt kept by `connect`"],
      [
        "sealgate verify stream.txt --pin <pin> \\\n    --keys https://proxy.example.com/v1/keys",
        "A stream recorded on the path, with its proof",
      ],
      ["sealgate verify receipt.json --pin <pin> --evidence code-….json", "Which code held the key that signed?"],
      ["sealgate verify exchange.json --keys keys.json --json", "For programs"],
    ],
    exits: {
      0: "every statement, recording and revealed exchange in the file is genuine",
      1: "something in the file is not genuine",
      2: "wrong usage, or the file cannot be checked",
    },
    next: "No pin? Ask the proxy's operator over another channel than the one that the file came from.",
  }),
)
