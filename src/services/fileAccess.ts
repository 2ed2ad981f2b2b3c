/**
 * Who else may use a file that decides whom this process is, or whom it serves. As OpenSSH does with keys, one that others
 * could have changed, or have read where it is secret, is refused.
 */
import type { Stats } from "node:fs"

const GROUP_READS = 0o040
const OTHERS_WRITE = 0o022
const OTHERS_USE = 0o077

/** A sentence without its subject, which is the file, and what to do. */
interface FileFault {
  readonly problem: string
  readonly remedy: string
}

/**
 * What is wrong with the owner and the mode of the file at `path`; `undefined` if nothing is, and on Windows. Root's file may
 * be read by its group: that is how orchestrators mount a secret for a process that is not root's.
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
