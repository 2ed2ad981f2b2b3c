/** `npm run build`: emits JavaScript and types for publishing. Otherwise Node runs the sources directly. */
import { spawnSync } from "node:child_process"
import { rmSync } from "node:fs"

rmSync("dist", { recursive: true, force: true })
const { status } = spawnSync("node_modules/.bin/tsc", ["-p", "scripts/tsconfig.build.json"], { stdio: "inherit" })
if (status !== 0) process.exit(1)
await import("./buildWeb.ts")
await import("./buildCommand.ts")
