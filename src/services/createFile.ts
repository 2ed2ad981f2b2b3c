import { randomUUID } from "node:crypto"
import { link, open, rm } from "node:fs/promises"

const OWNER_ONLY = 0o600

/**
 * Creates a file that only its owner can read. It gets its name only once it is on disk, so a failure leaves no partial
 * file. Rejects with the system's errors, `EEXIST` if the file exists.
 */
export const createFile = async (path: string, content: string | Uint8Array): Promise<void> => {
  const draft = `${path}.${randomUUID()}`
  try {
    const file = await open(draft, "wx", OWNER_ONLY)
    try {
      await file.writeFile(content)
      await file.sync()
    } finally {
      await file.close()
    }
    await link(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}
