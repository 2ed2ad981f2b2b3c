import { Console, Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { createKeyFile } from "../services/sealing/AttestationKeyFile.ts"
import { attestationKeyFile, pinOf, pinOfFile } from "./settings/ownKey.ts"
import { withHelp } from "./help/Guide.ts"
import { jsonFlag } from "./flags.ts"

const DEFAULT_FILE = proxySettings.attestationKeyFile.fallback ?? ""

const json = jsonFlag("Print JSON")

const file = (description: string) =>
  Argument.String("file").pipe(
    Argument.withDescription(`${description} (default ATTESTATION_KEY_FILE, else ${DEFAULT_FILE})`),
    Argument.optional,
  )

const nextOf = (path: string, attested: string): string =>
  `To run a proxy with it: ${path === attested ? "" : `ATTESTATION_KEY_FILE=${path} `}sealgate proxy`

/** Returns the path of the key, and how to use another if an argument named it. */
const given = (file: Option.Option<string>) =>
  Option.match(file, {
    onNone: () => Effect.map(attestationKeyFile, (path) => ({ path, other: undefined })),
    onSome: (path) => Effect.succeed({ path, other: "name another file" }),
  })

export const keygenCommand = Command.make(
  "keygen",
  { file: file("Where to write the key"), json },
  Effect.fn(function* (input) {
    const { other, path } = yield* given(input.file)
    const kid = yield* Effect.flatMap(createKeyFile(path, other), pinOf)
    yield* Console.log(
      input.json
        ? JSON.stringify({ file: path, kid })
        : `Wrote a new attestation key to ${path}, readable by you alone.\nClients pin it as: ${kid}\n${nextOf(path, yield* attestationKeyFile)}`,
    )
  }),
).pipe(
  withHelp({
    summary: "Create an attestation key",
    description: `Creates an attestation key (Ed25519), which signs a proxy's statements, and prints the pin that clients need. For
operators who announce the pin before the proxy runs, or who rotate keys. Without a key, \`sealgate proxy\` creates one.
An existing key is never overwritten.`,
    examples: [
      ["sealgate keygen", `Write ${DEFAULT_FILE}`],
      ["sealgate keygen /etc/sealgate/next.pem", "Prepare the next key before a rotation"],
      ["sealgate keygen --json", "For programs: file and pin (kid) as JSON"],
    ],
    exits: { 0: "the key was created", 1: "no key was created: the file exists or cannot be written" },
    next:
      "`sealgate proxy` reads the key from ATTESTATION_KEY_FILE, which has the same default. " +
      "Give the pin to your clients over a channel that they trust.",
  }),
)

export const pinCommand = Command.make(
  "pin",
  { file: file("The key file"), json },
  Effect.fn(function* (input) {
    const { other, path } = yield* given(input.file)
    const kid = yield* pinOfFile(path, other)
    yield* Console.log(input.json ? JSON.stringify({ file: path, kid }) : kid)
  }),
).pipe(
  withHelp({
    summary: "Print the pin of an attestation key",
    description: `Prints the pin of a proxy's attestation key, for operators. Clients that pass it as --pin trust this proxy and no other.
It is the key's RFC 7638 thumbprint (kid) and not a secret.`,
    examples: [
      ["sealgate pin", `The pin of ${DEFAULT_FILE}`],
      ["sealgate pin /etc/sealgate/next.pem", "The pin of another key"],
      [
        'sealgate chat --proxy http://localhost:3001 --pin "$(sealgate pin)"',
        "Chat through a proxy that runs from this folder",
      ],
    ],
    exits: { 0: "the pin was printed", 1: "the key file is missing, unreadable, or readable by others" },
    next: "Give the pin to your clients over a channel that they trust. No key yet? `sealgate keygen`.",
  }),
)
