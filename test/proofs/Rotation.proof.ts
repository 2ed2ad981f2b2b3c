/** The runbook for the attestation key (docs/how-to/maintenance.md), with proxies behind the documented nginx, under load. */
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { sealgate } from "../support/cli.ts"
import { freePort } from "../support/freePort.ts"
import { hasNginx, NO_NGINX, runNginx, TAGS } from "../support/nginx.ts"
import { runProxy, type RunningProxyProcess } from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { runLoad } from "./balanced/Load.ts"
import { runProvider } from "./balanced/Provider.ts"

const SESSIONS = 40
const ROUNDS = 60

const keygen = (file: string) =>
  Effect.map(sealgate(["keygen", file]), ({ stdout }) => /pin it as: ([\w-]{43})/.exec(stdout)?.[1] ?? "")

const portOf = ({ url }: RunningProxyProcess): number => Number(new URL(url).port)

describe.skipIf(!hasNginx)(hasNginx ? "proxies behind nginx" : NO_NGINX, () => {
  it.live("rotate their attestation key one after the other without a failed request", () =>
    Effect.gen(function* () {
      const provider = yield* runProvider
      const folder = yield* temporaryFolder
      const [old, next] = [join(folder, "old.pem"), join(folder, "next.pem")]
      const pins = [yield* keygen(old), yield* keygen(next)]
      const startProxy = (tag: string, port: number, keyFile: string) =>
        runProxy({
          env: {
            PORT: String(port),
            ROUTING_TAG: tag,
            ATTESTATION_KEY_FILE: keyFile,
            TRUSTED_PROXIES: "127.0.0.1",
            PROVIDER1_API_KEY: "key",
            PROVIDER1_BASE_URL: provider.url,
            UPSTREAM_RETRIES: "0",
            RATE_LIMIT_COMPLETIONS: "0",
            MAX_CONCURRENT_PER_CLIENT: "0",
          },
        })
      const running: Array<readonly [tag: string, proxy: RunningProxyProcess]> = []
      for (const tag of TAGS) running.push([tag, yield* startProxy(tag, yield* Effect.promise(freePort), old)])
      const nginx = yield* runNginx(running.map(([, proxy]) => portOf(proxy)))

      const kids: Array<string> = []
      const waiting: Array<{ readonly count: number; readonly resume: () => void }> = []
      const load = Effect.promise(() =>
        runLoad({
          url: nginx.url,
          pins,
          // New clients throughout: each begins a session and learns the key.
          fresh: true,
          sessions: SESSIONS,
          rounds: ROUNDS,
          concurrency: 8,
          onProgress: (done) => {
            for (const { count, resume } of waiting) if (count <= done) resume()
          },
        }),
      )
      const reached = (count: number) =>
        Effect.promise(() => new Promise<void>((resume) => void waiting.push({ count, resume })))
      const rotate = Effect.gen(function* () {
        for (const [index, [tag, proxy]] of running.entries()) {
          yield* reached(((index + 1) * SESSIONS * ROUNDS) / 5)
          proxy.kill("SIGTERM")
          assert.strictEqual(yield* Effect.promise(() => proxy.exit), 0)
          kids.push((yield* startProxy(tag, portOf(proxy), next)).kid)
        }
      })
      const [exchanges] = yield* Effect.all([load, rotate], { concurrency: "unbounded" })
      const failed = exchanges.filter(({ error }) => error !== undefined)
      console.info(`${exchanges.length} exchanges, ${failed.length} failed`)
      if (failed.length > 0) console.info(nginx.log.join(""))
      assert.deepStrictEqual(
        failed.map(({ error }) => `${error?.code}: ${error?.message}`),
        [],
      )
      assert.deepStrictEqual(kids, [pins[1], pins[1], pins[1]])
    }),
  )
})
