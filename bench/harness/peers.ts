/** Installs the peers from the benchmark's own lock file, because the product does not depend on them. */
import { spawnSync } from "node:child_process"
import { existsSync } from "node:fs"
import { fileURLToPath } from "node:url"

const FOLDER = fileURLToPath(new URL("..", import.meta.url))

export const peerFile = (path: string): string => `${FOLDER}/node_modules/${path}`

const PEERS = ["@dbos-inc/dbos-sdk", "@portkey-ai/gateway"]

export const installPeers = (): void => {
  if (PEERS.every((peer) => existsSync(peerFile(peer)))) return
  console.error("Installing the peers (bench/package-lock.json) …")
  const { status } = spawnSync("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], {
    cwd: FOLDER,
    stdio: ["ignore", "ignore", "inherit"],
  })
  if (status === 0) return
  console.error("The peers could not be installed: run `npm ci --ignore-scripts` in bench/, then this again.")
  process.exit(1)
}
