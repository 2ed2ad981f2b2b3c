/** Stores the proof of each answer that a connector returned, in a file that only its owner can read. */
import { mkdtempSync, rmdirSync } from "node:fs"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import type { VerifiedAnswer } from "../../client/sdk/sealedFetch.ts"
import type { ProvenCode } from "../../client/attestation/Policy.ts"
import { fileReason, systemCode } from "../../domain/problems/systemErrors.ts"
import { makePrivateFolder } from "../../services/makePrivateFolder.ts"

export interface ReceiptFolderSettings {
  readonly folder: string
  /** Whether to store the exchange too: prompt, answer, and the key that proves both. */
  readonly evidence: boolean
}

export class ReceiptsUnwritable extends Schema.TaggedError<ReceiptsUnwritable>()("ReceiptsUnwritable", {
  folder: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `Receipts cannot be written to ${this.folder}: ${this.reason}`
  }
}

const PRIVATE_FILE = 0o600

/** Name of the file with the evidence of the code, which many answers share. The nonce is base64url. */
const codeFile = ({ kept }: ProvenCode): string => `code-${kept.nonce}.json`

/** Content of the file. Without `evidence`, it reveals neither prompt nor answer, not even to guessing. */
const receiptFile = (answer: VerifiedAnswer, evidence: boolean) => ({
  ...answer.statements,
  ...answer.keys,
  ...(answer.code === undefined ? {} : { code: codeFile(answer.code) }),
  ...(evidence ? answer.evidence : {}),
})

const unlessThere = (cause: unknown): void => {
  if (systemCode(cause) !== "EEXIST") throw cause
}

/** Creates the folder if necessary. Throws the system's error if nothing can be written to it. */
const makeWritable = (folder: string): void => {
  makePrivateFolder(folder)
  rmdirSync(mkdtempSync(join(folder, ".writable-")))
}

/** Creates the folder if necessary, and returns a function that writes the file of an answer, named after its request. */
export const openReceiptFolder = Effect.fnUntraced(function* ({ evidence, folder }: ReceiptFolderSettings) {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const unwritable = (cause: unknown) => new ReceiptsUnwritable({ folder, reason: fileReason(cause) })
  yield* Effect.try({ try: () => makeWritable(folder), catch: unwritable })
  const write = (name: string, content: unknown) =>
    writeFile(join(folder, name), `${JSON.stringify(content, null, 2)}\n`, { mode: PRIVATE_FILE, flag: "wx" })
  return async (answer: VerifiedAnswer): Promise<void> => {
    try {
      if (answer.code !== undefined) await write(codeFile(answer.code), answer.code.kept).catch(unlessThere)
      // The client chose this UUID, and the verified receipt repeats it.
      await write(`${answer.receipt.jti}.json`, receiptFile(answer, evidence))
    } catch (cause) {
      const failure = unwritable(cause)
      runFork(Effect.logError(`an answer was withheld: receipts cannot be written to ${folder}: ${failure.reason}`))
      throw failure
    }
  }
})
