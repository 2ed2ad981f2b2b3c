/** The digest of the running code, as in the attested configuration. */
import { createHash } from "node:crypto"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { dirname, join, relative, sep } from "node:path"
import { fileURLToPath } from "node:url"

export const b64uHash = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("base64url")

export const packageFolder = (): string => {
  let folder = dirname(fileURLToPath(import.meta.url))
  while (!existsSync(join(folder, "package.json")) && dirname(folder) !== folder) folder = dirname(folder)
  return folder
}

/** base64url SHA-256 over a line of path, NUL and hash for each file that can run, sorted by path. */
export const digestOfSoftware = (): string => {
  const root = packageFolder()
  const [top = ""] = relative(root, fileURLToPath(import.meta.url)).split(sep)
  const files = readdirSync(join(root, top), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".d.ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)).split(sep).join("/"))
  const lines = ["package.json", ...files]
    .toSorted()
    .map((path) => `${path}\0${b64uHash(readFileSync(join(root, path)))}\n`)
  return b64uHash(Buffer.from(lines.join("")))
}
