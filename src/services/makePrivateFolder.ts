import { existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"
import { systemCode } from "../domain/problems/systemErrors.ts"

const OWNER_ONLY = 0o700

const makeOne = (path: string): void => {
  try {
    mkdirSync(path, { mode: OWNER_ONLY })
  } catch (error) {
    // Another process has created it.
    if (existsSync(path)) return
    // The parent exists, so this file system creates no folders: /proc reports `ENOENT` in that case.
    throw systemCode(error) === "ENOENT" ? Object.assign(new Error(`no folder ${path}`), { code: "ENOTSUP" }) : error
  }
}

/**
 * Creates a folder and its missing parents, accessible only to this user; existing folders stay as they are. Throws the
 * system's errors. Node's `recursive` loops forever on a file system that creates no folders, such as /proc.
 */
export const makePrivateFolder = (path: string): void => {
  if (existsSync(path)) return
  const above = dirname(path)
  if (above !== path) makePrivateFolder(above)
  makeOne(path)
}
