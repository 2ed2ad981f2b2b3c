/** Finds the process that listens on a port. Works on Linux, for processes of the same user. */
import { basename } from "node:path"
import { readdir, readFile, readlink } from "node:fs/promises"

/** State of a listening socket in /proc/net/tcp. */
const LISTENING = "0A"

const inodesOf = async (port: number): Promise<ReadonlySet<string>> => {
  const hex = port.toString(16).toUpperCase().padStart(4, "0")
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((file) => readFile(file, "utf8").catch(() => "")),
  )
  const rows = tables.flatMap((text) => text.split("\n").map((line) => line.trim().split(/\s+/)))
  return new Set(
    rows.flatMap(([, local, , state, , , , , , inode]) =>
      local?.endsWith(`:${hex}`) === true && state === LISTENING && inode !== undefined ? [inode] : [],
    ),
  )
}

/** Returns for example `node (process 4711)`, without the arguments, which may be secrets. */
export const portOwner = async (port: number): Promise<string | undefined> => {
  const inodes = await inodesOf(port)
  if (inodes.size === 0) return undefined
  for (const pid of await readdir("/proc").catch(() => [])) {
    if (!/^\d+$/.test(pid)) continue
    const files = await readdir(`/proc/${pid}/fd`).catch(() => [])
    for (const file of files) {
      const target = await readlink(`/proc/${pid}/fd/${file}`).catch(() => "")
      if (!inodes.has(/^socket:\[(\d+)\]$/.exec(target)?.[1] ?? "")) continue
      const program = await readlink(`/proc/${pid}/exe`).catch(() => "a program")
      return `${basename(program)} (process ${pid})`
    }
  }
  return undefined
}
