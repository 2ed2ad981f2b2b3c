import { existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { systemCode } from "../domain/problems/systemErrors.ts"

const OWNER_ONLY = 0o700

const makeOne = (path: string): void => {
  try {
    mkdirSync(path, { mode: OWNER_ONLY })
  } catch (error) {
    // Somebody else made it meanwhile.
    if (existsSync(path)) return
    // The folder above is there, so the file system itself makes none: `mkdir(2)` has another code for that, /proc not.
    throw systemCode(error) === "ENOENT" ? Object.assign(new Error(`no folder ${path}`), { code: "ENOTSUP" }) : error
  }
}

/**
 * Makes a folder, and those above it that are missing, for this user alone; what is there stays as it is. Throws the
 * system's errors. Node's own `recursive` tries for ever where a file system makes no folders, as /proc.
 */
export const makePrivateFolder = (path: string): void => {
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makePrivateFolder(above)
  makeOne(path)
}
