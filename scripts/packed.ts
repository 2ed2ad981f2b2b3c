/** Packs both packages and installs them into empty folders, as a user would. */
import { execFileSync, spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { pathOf } from "./paths.ts"

export const check = (what: string, holds: boolean, why = ""): void => {
  if (!holds) throw new Error(`failed: ${what}\n${why}`)
  console.log(`✓ ${what}`)
}

export const emptyFolder = (): string => mkdtempSync(join(tmpdir(), "sealgate-docs-"))

/** Packs the package in the folder `path` of this checkout, and returns the path of the archive in `folder`. */
export const pack = (path: string, folder: string): string => {
  execFileSync("npm", ["pack", "--silent", "--pack-destination", folder], { cwd: pathOf(path), stdio: "pipe" })
  const { name, version }: { readonly name: string; readonly version: string } = JSON.parse(
    readFileSync(pathOf(`${path}/package.json`), "utf8"),
  )
  return join(folder, `${name}-${version}.tgz`)
}

export const packClient = (folder: string): string => {
  execFileSync(process.execPath, [pathOf("scripts/buildClient.ts"), "--types"], { cwd: pathOf("."), stdio: "inherit" })
  return pack("packages/client", folder)
}

export const packAll = (): Readonly<Record<"sealgate" | "sealgate-client", string>> => {
  const folder = emptyFolder()
  return { "sealgate-client": packClient(folder), sealgate: pack(".", folder) }
}

/** Makes the folder of a user's project that uses ES modules. */
export const startProject = (folder: string): void =>
  writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "user", private: true, type: "module" }))

/** Runs `npm install` in a folder and returns what it warned about. */
export const install = (folder: string, packages: ReadonlyArray<string>): string => {
  const args = ["install", "--no-audit", "--no-fund", "--loglevel=warn", ...packages]
  const { status, stderr, stdout } = spawnSync("npm", args, { cwd: folder, encoding: "utf8" })
  if (status !== 0) throw new Error(`npm ${args.join(" ")} failed\n${stdout}${stderr}`)
  return stderr
}

/** Oldest version of Node for the servers and the gateway's client, and versions for the sealed client. */
export const SERVER_NODES = ["24.7.0", "26"] as const
export const CLIENT_NODES = ["20.16.0", "20", "22"] as const

/** Installs versions of Node from the registry, and returns the path of each. */
export const installNodes = (): ReadonlyMap<string, string> => {
  const folder = emptyFolder()
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true }))
  const versions = [...CLIENT_NODES, ...SERVER_NODES]
  install(
    folder,
    versions.map((version) => `node-${version}@npm:node@${version}`),
  )
  return new Map(versions.map((version) => [version, join(folder, `node_modules/node-${version}/bin/node`)]))
}
