/** `npm run build:client`: builds packages/client. Its dependencies are not bundled, so that audits find them. */
import { spawnSync } from "node:child_process"
import { readFileSync, rmSync } from "node:fs"
import { rolldown } from "rolldown"
import { pathOf } from "./paths.ts"

const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(pathOf("packages/client/package.json"), "utf8"),
)
const dir = pathOf("packages/client/dist")

const bundle = await rolldown({
  input: { index: pathOf("src/client/index.ts"), policy: pathOf("src/client/policy.ts") },
  platform: "neutral",
  external: [...Object.keys(dependencies), /^node:/],
  logLevel: "warn",
})
rmSync(dir, { recursive: true, force: true })
await bundle.write({ dir, format: "esm", chunkFileNames: "[name].js" })
await bundle.close()
if (process.argv.includes("--types")) {
  const { status } = spawnSync(pathOf("node_modules/.bin/tsc"), ["-p", pathOf("scripts/tsconfig.client.json")], {
    stdio: "inherit",
  })
  if (status !== 0) process.exit(1)
}
