/**
 * Copies of our own client and server that were made weaker on purpose. Sources are bundled with each weakening beside what it
 * replaces, and the variable WEAKNESS chooses the one that counts: so one bundle is enough for all of them.
 */
import { join } from "node:path"
import { rolldown } from "rolldown"

export interface Weakness {
  readonly name: string
  /** The rule that is broken by it. */
  readonly must: string
  /** Path below src/. */
  readonly file: string
  /** An expression of that file, to the letter, and what stands in its place. */
  readonly from: string
  readonly to: string
}

const chosen = ({ from, name, to }: Weakness): string =>
  `(process.env.WEAKNESS === ${JSON.stringify(name)} ? (${to}) : (${from}))`

/** Bundles `input` of src/ with `weaknesses`, every one of which must have been found once, and gives the file. */
export const bundleWeakened = async (
  input: string,
  weaknesses: ReadonlyArray<Weakness>,
  folder: string,
): Promise<string> => {
  const left = new Set(weaknesses)
  const bundle = await rolldown({
    input: { main: join("src", input) },
    platform: "node",
    // Native modules cannot be bundled and are not needed.
    external: (id) =>
      id.startsWith("node:") || id === "sodium-native" || id.startsWith("@effect/sql-pg") || id.startsWith("redis"),
    resolve: { conditionNames: ["@sealgate/source", "node", "import", "default"] },
    logLevel: "silent",
    plugins: [
      {
        name: "weaken",
        transform: (code, id) => {
          let changed = code
          for (const weakness of weaknesses) {
            if (!id.endsWith(join("src", weakness.file))) continue
            if (changed.split(weakness.from).length !== 2) continue
            changed = changed.replace(weakness.from, () => chosen(weakness))
            left.delete(weakness)
          }
          return changed === code ? null : { code: changed }
        },
      },
    ],
  })
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "main.mjs", chunkFileNames: "[name]-[hash].mjs" })
  await bundle.close()
  const names = [...left].map(({ file, name }) => `${name} (${file})`)
  if (names.length > 0) throw new Error(`these weakenings replace nothing, or too much: ${names.join(", ")}`)
  return join(folder, "main.mjs")
}
