/** Refuses files with keys that other users can write, or can read if they are secret, as OpenSSH does. */
import type { Stats } from "node:fs"
import { open } from "node:fs/promises"

const GROUP_READS = 0o040
const OTHERS_WRITE = 0o022
const OTHERS_USE = 0o077

/** A sentence whose subject is the file, and the remedy. */
interface FileFault {
  readonly problem: string
  readonly remedy: string
}

/**
 * The fault of a file's owner or mode; none on Windows. Files of root may be readable by the group, as orchestrators
 * mount secrets.
 */
export const accessFault = (
  path: string,
  { mode, uid }: Pick<Stats, "mode" | "uid">,
  isSecret: boolean,
  self = process.geteuid?.(),
): FileFault | undefined => {
  if (self === undefined) return undefined
  if (uid !== self && uid !== 0) {
    return { problem: `belongs to another user (uid ${uid})`, remedy: `Run chown ${self} ${path}` }
  }
  const isMounted = uid !== self
  const wrong = isSecret ? OTHERS_USE & (isMounted ? ~GROUP_READS : -1) : OTHERS_WRITE
  if ((mode & wrong) === 0) return undefined
  const shown = (mode & 0o777).toString(8).padStart(4, "0")
  const right = isSecret ? (isMounted ? "640" : "600") : "go-w"
  return {
    problem: `is ${isSecret ? "readable or " : ""}writable by others (mode ${shown})`,
    remedy: `Run chmod ${right} ${path}`,
  }
}

/** Reads a file with keys, or returns the fault of its owner or mode. Rejects with the system's errors. */
export const readKeys = async (path: string, isSecret: boolean): Promise<Buffer | FileFault> => {
  await using file = await open(path)
  return accessFault(path, await file.stat(), isSecret) ?? (await file.readFile())
}
