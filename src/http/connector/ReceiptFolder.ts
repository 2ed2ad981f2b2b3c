/** Keeps what proves the answers that a connector handed out: one file each, readable by its owner alone. */
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { Effect, Schema } from "effect"
import type { VerifiedAnswer } from "../../client/sdk/sealedFetch.ts"
import { fileReason } from "../../domain/problems/systemErrors.ts"
import { makePrivateFolder } from "../../services/makePrivateFolder.ts"

export interface ReceiptFolderSettings {
  readonly folder: string
  /** Whether the exchange itself is kept too: prompt, answer, and the key that proves both. */
  readonly evidence: boolean
}

/** A folder or file that cannot be written. */
export class ReceiptsUnwritable extends Schema.TaggedError<ReceiptsUnwritable>()("ReceiptsUnwritable", {
  folder: Schema.String,
  reason: Schema.String,
}) {
  override get message(): string {
    return `Receipts cannot be written to ${this.folder}: ${this.reason}`
  }
}

const PRIVATE_FILE = 0o600

/** The file of an answer. Without `evidence`, neither prompt nor answer can be read or guessed from it. */
const receiptFile = (answer: VerifiedAnswer, evidence: boolean) => ({
  ...answer.statements,
  ...answer.keys,
  ...(evidence ? answer.evidence : {}),
})

/**
 * Creates the folder if necessary, and returns a function that writes the file of an answer, named after its request.
 */
export const openReceiptFolder = Effect.fnUntraced(function* ({ evidence, folder }: ReceiptFolderSettings) {
  const unwritable = (cause: unknown) => new ReceiptsUnwritable({ folder, reason: fileReason(cause) })
  yield* Effect.try({ try: () => makePrivateFolder(folder), catch: unwritable })
  return async (answer: VerifiedAnswer): Promise<void> => {
    const text = `${JSON.stringify(receiptFile(answer, evidence), null, 2)}\n`
    // The id is a UUID that the client made up and the verified receipt repeats.
    const path = join(folder, `${answer.receipt.jti}.json`)
    await writeFile(path, text, { mode: PRIVATE_FILE, flag: "wx" }).catch((cause: unknown) => {
      throw unwritable(cause)
    })
  }
})
