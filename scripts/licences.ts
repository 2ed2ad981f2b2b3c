import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"

/** Returns the licences of the packages of `modules`, which must accompany every copy. */
export const licencesOf = (modules: ReadonlyArray<string>): string => {
  const folders = modules.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(id)?.[0] ?? [])
  return [...new Set(folders)]
    .sort()
    .map((folder) => {
      const name = folder.slice(folder.lastIndexOf("/node_modules/") + "/node_modules/".length)
      const licence = readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))
      if (licence === undefined) throw new Error(`${name} comes without its licence`)
      return `${name}\n\n${readFileSync(join(folder, licence), "utf8").trim()}\n`
    })
    .join(`\n${"-".repeat(80)}\n\n`)
}
