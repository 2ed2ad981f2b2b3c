/** Stores the proof of each answer that a connector returned, in a file that only its owner can read. */
import { existsSync } from "node:fs"
import { rm } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import type { VerifiedAnswer } from "../../client/sdk/sealedFetch.ts"
import type { ProvenCode } from "../../client/attestation/Policy.ts"
import { fileReason, systemCode } from "../../domain/problems/systemErrors.ts"
import { createFile } from "../../services/createFile.ts"
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

/** Creates the folder if necessary. Rejects with the system's error if no file can be created in it. */
const makeWritable = async (folder: string): Promise<void> => {
  makePrivateFolder(folder)
  const trial = join(folder, `.writable-${globalThis.crypto.randomUUID()}`)
  await createFile(trial, "")
  await rm(trial)
}

/** Creates the folder if necessary, and returns a function that writes the file of an answer, named after its request. */
export const openReceiptFolder = Effect.fnUntraced(function* ({ evidence, folder }: ReceiptFolderSettings) {
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const unwritable = (cause: unknown) => new ReceiptsUnwritable({ folder, reason: fileReason(cause) })
  yield* Effect.tryPromise({ try: () => makeWritable(folder), catch: unwritable })
  const write = (name: string, content: unknown) =>
    createFile(join(folder, name), `${JSON.stringify(content, null, 2)}\n`)
  const writeCode = async (code: ProvenCode) => {
    const name = codeFile(code)
    if (!existsSync(join(folder, name))) await write(name, code.kept).catch(unlessThere)
  }
  return async (answer: VerifiedAnswer): Promise<void> => {
    try {
      if (answer.code !== undefined) await writeCode(answer.code)
      // The client chose this UUID, and the verified receipt repeats it.
      await write(`${answer.receipt.jti}.json`, receiptFile(answer, evidence))
    } catch (cause) {
      const failure = unwritable(cause)
      runFork(Effect.logError(`an answer was withheld: receipts cannot be written to ${folder}: ${failure.reason}`))
      throw failure
    }
  }
})
