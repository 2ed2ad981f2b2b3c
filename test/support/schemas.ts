import { SecureRandom } from "effect/crypto"
import { Effect } from "effect"

/** Names the schemas of this run, which its tests hand on to each other, and drops them at its end. */
export const setup = async (): Promise<() => Promise<void>> => {
  const prefix = `sealgate_${SecureRandom.uuidV7Unsafe().replaceAll("-", "").slice(0, 20)}_`
  process.env["TEST_SCHEMAS"] = prefix
  const [{ postgresIsThere }, { dropSchemas }] = await Promise.all([
    import("./databases.ts"),
    import("./emptyPostgres.ts"),
  ])
  return () => (postgresIsThere ? Effect.runPromise(dropSchemas(prefix)) : Promise.resolve())
}
