import { Console, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { proxySettings } from "../layers/config/proxySettings.ts"
import { createKeyFile, readKeyFile } from "../services/sealing/AttestationKeyFile.ts"
import { kidOf } from "../services/sealing/Attestation.ts"
import { KeyVault } from "../services/sealing/KeyVault.ts"
import type { Bytes } from "../domain/bytes.ts"

const DEFAULT_FILE = proxySettings.attestationKeyFile.fallback ?? ""

const json = Flag.Boolean("json").pipe(Flag.withDescription("Print JSON"), Flag.withDefault(false))

const file = (description: string) =>
  Argument.String("file").pipe(Argument.withDescription(`${description} (${DEFAULT_FILE})`), Argument.optional)

/** The pin of a key, which is held no longer than it takes to compute it. */
const pinOf = (seed: Bytes) =>
  Effect.map(KeyVault, (vault) => {
    const key = vault.signingKey(seed)
    const kid = kidOf(key.publicKey)
    key.destroy()
    return kid
  }).pipe(Effect.provide(KeyVault.layer))

export const keygenCommand = Command.make(
  "keygen",
  { file: file("Where to write the key"), json },
  Effect.fn(function* (input) {
    const path = Option.getOrElse(input.file, () => DEFAULT_FILE)
    const kid = yield* Effect.flatMap(createKeyFile(path), pinOf)
    yield* Console.log(
      input.json
        ? JSON.stringify({ file: path, kid })
        : `Wrote a new attestation key to ${path}, readable by you alone.\nClients pin it as: ${kid}`,
    )
  }),
).pipe(
  Command.withShortDescription("Make an attestation key"),
  Command.withDescription(
    "Makes an Ed25519 attestation key and prints the pin that clients need. A key that exists is never overwritten.",
  ),
  Command.withExamples([
    { command: "sealgate keygen", description: `Write ${DEFAULT_FILE}` },
    { command: "sealgate keygen /etc/sealgate/next.pem", description: "Prepare the next key before a rotation" },
  ]),
)

export const pinCommand = Command.make(
  "pin",
  { file: file("The key file"), json },
  Effect.fn(function* (input) {
    const path = Option.getOrElse(input.file, () => DEFAULT_FILE)
    const kid = yield* Effect.flatMap(readKeyFile(path), pinOf)
    yield* Console.log(input.json ? JSON.stringify({ file: path, kid }) : kid)
  }),
).pipe(
  Command.withShortDescription("Print the pin of an attestation key"),
  Command.withDescription("Prints the key id (RFC 7638 thumbprint) of an attestation key: what clients pin."),
  Command.withExamples([{ command: "sealgate pin", description: `The pin of ${DEFAULT_FILE}` }]),
)
