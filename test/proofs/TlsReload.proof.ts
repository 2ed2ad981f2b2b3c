/**
 * Replaces a proxy's certificates in every way under constant traffic, over kept and new connections: no request fails, and a
 * stream that began under the first certificate completes under the last.
 */
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { Agent } from "node:https"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { connect } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import type { Fetch } from "../../src/client/index.ts"
import { type Certificate, fingerprintOf, hasOpenssl, httpsFetch, makeCertificate } from "../support/certificates.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { runProxy, type RunningProxyProcess } from "../support/processes.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { jsonOf } from "../support/sealing.ts"

const KEPT = 4
const FRESH = 4
const ANSWER = "one two three four"
/** Keeps answers in flight throughout. */
const GAP_MS = 15
const LONG_WORDS = 100
const LONG_GAP_MS = 500

/** Callers that run until stopped, and their failures. */
const traffic = (proxy: RunningProxyProcess, connect: (agent?: Agent) => Fetch) => {
  const failures: Array<unknown> = []
  const stopping = new AbortController()
  let served = 0
  const caller = async (kept: boolean, index: number) => {
    const agent = kept ? new Agent({ keepAlive: true, maxSockets: 1 }) : undefined
    const through = connect(agent)
    // Measured below the client, which resends some requests.
    const fetch: Fetch = async (url, init) => {
      try {
        const response = await through(url, init)
        if (!response.ok) failures.push(new Error(`${url}: ${response.status}`))
        return response
      } catch (error) {
        failures.push(error)
        throw error
      }
    }
    const client = proxy.client({ fetch })
    for (let count = index; !stopping.signal.aborted; count++) {
      try {
        const text =
          count % 2 === 0
            ? (await client.complete({ prompt: "hello" })).completion.choices[0]?.message.content
            : await (await client.stream({ prompt: "hello" })).text()
        if (text !== ANSWER) failures.push(new Error(`a wrong answer: ${text}`))
        served++
      } catch (error) {
        failures.push(error)
      }
    }
    agent?.destroy()
  }
  const callers = [
    ...Array.from({ length: KEPT }, (_, index) => caller(true, index)),
    ...Array.from({ length: FRESH }, (_, index) => caller(false, index)),
  ]
  return {
    served: () => served,
    failures,
    stop: async () => {
      stopping.abort()
      await Promise.all(callers)
    },
  }
}

const shownBy = (proxy: RunningProxyProcess): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port: Number(new URL(proxy.url).port), host: "127.0.0.1", rejectUnauthorized: false })
    socket.on("error", reject)
    socket.on("secureConnect", () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "")
      socket.destroy()
    })
  })

/** A folder of certificates, laid out like a Kubernetes mount. */
const mounted = (folder: string) => {
  const files: Certificate = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") }
  let version = 0
  const swap = (certificate: Certificate) => {
    const old = join(folder, `..version${version}`)
    const current = `..version${++version}`
    mkdirSync(join(folder, current))
    copyFileSync(certificate.cert, join(folder, current, "tls.crt"))
    copyFileSync(certificate.key, join(folder, current, "tls.key"))
    symlinkSync(current, join(folder, "..data_tmp"))
    renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
    rmSync(old, { recursive: true, force: true })
  }
  symlinkSync("..data/tls.crt", files.cert)
  symlinkSync("..data/tls.key", files.key)
  return { files, swap }
}

describe.runIf(hasOpenssl)("certificates replaced under load", () => {
  it.live("fail no request", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const servers = Array.from({ length: 12 }, (_, index) => makeCertificate(folder, `server${index}`))
      let next = 0
      const another = (): Certificate => {
        const certificate = servers[next++]
        assert(certificate !== undefined)
        return certificate
      }
      const [oldAuthority, newAuthority] = [makeCertificate(folder, "old-ca"), makeCertificate(folder, "new-ca")]
      const oldClient = makeCertificate(folder, "old-client", oldAuthority)
      const newClient = makeCertificate(folder, "new-client", newAuthority)
      const authorities = join(folder, "authorities.pem")
      copyFileSync(oldAuthority.cert, authorities)

      const { files, swap } = mounted(yield* temporaryFolder)
      const first = another()
      swap(first)
      const fake = yield* FakeUpstream.make()
      fake.always({ text: ANSWER, delivery: { gap: GAP_MS } })
      const words = Array.from({ length: LONG_WORDS }, (_, index) => `${index} `)
      fake.when({ model: "long" }).always({ text: words, delivery: { gap: LONG_GAP_MS } })
      const proxy = yield* runProxy({
        secure: true,
        env: {
          TLS_CERT_FILE: files.cert,
          TLS_KEY_FILE: files.key,
          TLS_CLIENT_CA_FILE: authorities,
          RATE_LIMIT_COMPLETIONS: "0",
          MAX_CONCURRENT_PER_CLIENT: "0",
          PROVIDER1_API_KEY: "key",
          PROVIDER1_BASE_URL: fake.openAi,
        },
      })

      yield* Effect.promise(async () => {
        const as = (client: Certificate) => (agent?: Agent) =>
          httpsFetch(first, client, { alsoTrusted: servers, ...(agent === undefined ? {} : { agent }) })
        const isLetIn = (client: Certificate) =>
          as(client)()(`${proxy.url}/health`, {}).then(
            (response) => response.ok,
            () => false,
          )
        const reloadError = async () =>
          Reflect.get(Object((await jsonOf(await fetch(`${proxy.operatorUrl}/ready`)))["tls"]), "last_reload_error")
        const until = async (wanted: () => Promise<boolean>) => {
          while (!(await wanted())) await setTimeout(20)
        }
        const shows = (certificate: Certificate) =>
          until(async () => (await shownBy(proxy)) === fingerprintOf(certificate))
        const hangUp = () => proxy.kill("SIGHUP")

        const load = traffic(proxy, as(oldClient))
        const long = proxy.client({ fetch: as(oldClient)() }).stream({ model: "long", prompt: "hello" })
        const longText = long.then((stream) => stream.text())
        const started = performance.now()
        await until(async () => load.served() > 20)

        for (let round = 0; round < 4; round++) {
          const certificate = another()
          swap(certificate)
          hangUp()
          await shows(certificate)
        }
        for (let round = 0; round < 2; round++) {
          const certificate = another()
          swap(certificate)
          await shows(certificate)
        }
        // The certificate first, its key later, and a SIGHUP in between.
        const torn = another()
        copyFileSync(torn.cert, `${files.cert}.next`)
        renameSync(`${files.cert}.next`, files.cert)
        hangUp()
        await until(async () => /does not match/.test(String(await reloadError())))
        copyFileSync(torn.key, `${files.key}.next`)
        renameSync(`${files.key}.next`, files.key)
        await shows(torn)
        // Written in place; the change is noticed while the two do not match.
        const late = another()
        copyFileSync(late.key, files.key)
        await until(async () => /does not match/.test(String(await reloadError())))
        copyFileSync(late.cert, files.cert)
        await shows(late)
        assert.isNull(await reloadError())

        // A new client authority: both, then every client moves, then the new one alone.
        writeFileSync(authorities, readFileSync(oldAuthority.cert, "utf8") + readFileSync(newAuthority.cert, "utf8"))
        hangUp()
        await until(() => isLetIn(newClient))
        const moved = traffic(proxy, as(newClient))
        await until(async () => moved.served() > 20)
        assert.strictEqual(await longText, words.join(""))
        await load.stop()
        copyFileSync(newAuthority.cert, authorities)
        await until(async () => !(await isLetIn(oldClient)))
        const last = another()
        copyFileSync(last.key, files.key)
        copyFileSync(last.cert, files.cert)
        hangUp()
        await shows(last)
        const served = moved.served()
        await until(async () => moved.served() > served + 20)
        assert.isFalse(await isLetIn(oldClient))
        await moved.stop()

        const seconds = (performance.now() - started) / 1000
        assert.deepStrictEqual([...load.failures, ...moved.failures], [])
        const reloaded = proxy.stdout.filter((line) => line.includes("TLS certificate reloaded")).length
        assert.isAtLeast(reloaded, 11)
        console.info(
          `  ${load.served() + moved.served()} sealed exchanges, none failed, during ${reloaded} reloads in ${seconds.toFixed(0)} s`,
        )
        proxy.kill("SIGTERM")
        assert.strictEqual(await proxy.exit, 0)
      })
    }),
  )
})
