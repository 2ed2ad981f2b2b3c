/** Stores the proof of each answer that a connector returned, in a file that only its owner can read. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import type { VerifiedAnswer } from "../../client/sdk/sealedFetch.ts"
import { fileReason } from "../../domain/problems/systemErrors.ts"
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

/** Content of the file. Without `evidence`, it reveals neither prompt nor answer, not even to guessing. */
const receiptFile = (answer: VerifiedAnswer, evidence: boolean) => ({
  ...answer.statements,
  ...answer.keys,
  ...(evidence ? answer.evidence : {}),
})

/** Creates the folder if necessary, and returns a function that writes the file of an answer, named after its request. */
export const openReceiptFolder = Effect.fnUntraced(function* ({ evidence, folder }: ReceiptFolderSettings) {
  const unwritable = (cause: unknown) => new ReceiptsUnwritable({ folder, reason: fileReason(cause) })
  yield* Effect.try({ try: () => makePrivateFolder(folder), catch: unwritable })
  return async (answer: VerifiedAnswer): Promise<void> => {
    const text = `${JSON.stringify(receiptFile(answer, evidence), null, 2)}\n`
    // The client chose this UUID, and the verified receipt repeats it.
    const path = join(folder, `${answer.receipt.jti}.json`)
    await writeFile(path, text, { mode: PRIVATE_FILE, flag: "wx" }).catch((cause: unknown) => {
      throw unwritable(cause)
    })
  }
})
