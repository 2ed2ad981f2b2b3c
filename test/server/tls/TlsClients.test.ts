/** TLS handshakes that either server accepts or refuses, and the logs and metrics of refusals. */
import { execFile } from "node:child_process"
import { Agent } from "node:https"
import { setTimeout } from "node:timers/promises"
import { connect } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect } from "effect"
import {
  type Certificate,
  hasOpenssl,
  httpsFetch,
  identityOf,
  makeCertificate,
  makeCertificateFor,
} from "../../support/certificates.ts"
import { scrape, valueOf } from "../../support/prometheus.ts"
import { failureOf } from "../../support/promises.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { openSocket } from "../../support/sockets.ts"
import { KINDS, startTls } from "../../support/tlsServers.ts"

const REFUSED = "sealgate_tls_clients_refused_total"
const VERSIONS = ["TLSv1.2", "TLSv1.3"] as const
const year = (number: number) => new Date(Date.UTC(number, 0))

/** Certificates of a server and of the clients that it knows. */
const certificates = Effect.map(temporaryFolder, (folder) => {
  const authority = makeCertificate(folder, "authority")
  return {
    folder,
    server: makeCertificate(folder, "server"),
    authority,
    mine: makeCertificate(folder, "mine", authority),
  }
})

/** A client that takes a server's certificate for a bad one and says so, as most do. */
const distrust = (port: number, believed: Certificate, client: Certificate): Promise<number> => {
  const args = ["-verify_return_error", "-CAfile", believed.cert, "-cert", client.cert, "-key", client.key]
  return new Promise((resolve) => {
    const child = execFile("openssl", ["s_client", "-connect", `127.0.0.1:${port}`, ...args], () =>
      resolve(child.exitCode ?? 0),
    )
  })
}

/** Whether a second connection of a client could go on from the session of its first one. */
const resumes = async (port: number, options: object): Promise<boolean> => {
  const open = (session?: Buffer) =>
    new Promise<{ readonly session: Buffer | undefined; readonly reused: boolean }>((resolve, reject) => {
      let latest: Buffer | undefined
      let reused = false
      const socket = connect({ port, host: "127.0.0.1", ...options, ...(session === undefined ? {} : { session }) })
      socket.on("session", (given) => (latest = given))
      socket.on("secureConnect", () => (reused = socket.isSessionReused()))
      socket.on("error", reject)
      socket.on("close", () => resolve({ session: latest, reused }))
      socket.resume()
      socket.write("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    })
  const first = await open()
  return (await open(first.session)).reused
}

describe.runIf(hasOpenssl)("clients of TLS", () => {
  for (const kind of KINDS) {
    it.live(
      `the ${kind} refuses clients without a valid certificate, logs why, and keeps serving one that has it`,
      () =>
        Effect.gen(function* () {
          const { authority, folder, mine, server } = yield* certificates
          const strange = makeCertificate(folder, "strange", makeCertificate(folder, "another-authority"))
          const expired = makeCertificateFor(folder, "expired", { from: year(2000), to: year(2001) }, authority)
          const future = makeCertificateFor(folder, "future", { from: year(2200), to: year(2201) }, authority)
          const { logs, operatorUrl, port, url } = yield* startTls(kind, { server, authority: authority.cert })
          yield* Effect.promise(async () => {
            const agent = new Agent({ keepAlive: true, maxSockets: 1 })
            const right = httpsFetch(server, mine, { agent })
            const counts = () => scrape({ operatorUrl })
            const before = await counts()

            const stopping = new AbortController()
            const served: Array<number> = []
            const steady = (async () => {
              while (!stopping.signal.aborted) {
                const response = await right(`${url}/health`, {})
                await response.text()
                served.push(response.status)
              }
            })()
            for (const version of VERSIONS) {
              const options = { minVersion: version, maxVersion: version }
              for (const client of [undefined, strange, expired, future]) {
                assert.instanceOf(await failureOf(httpsFetch(server, client, options)(`${url}/health`, {})), Error)
              }
              const { status } = await httpsFetch(server, mine, options)(`${url}/health`, {})
              assert.strictEqual(status, 200)
            }
            const old = { minVersion: "TLSv1", maxVersion: "TLSv1.1", ciphers: "DEFAULT@SECLEVEL=0" } as const
            assert.instanceOf(await failureOf(httpsFetch(server, mine, old)(`${url}/health`, {})), Error)
            assert.instanceOf(await failureOf(fetch(`http://127.0.0.1:${port}/health`)), Error)
            assert.notStrictEqual(await distrust(port, authority, mine), 0)

            const expected = {
              "no-certificate": 2,
              "unknown-authority": 2,
              expired: 2,
              "not-yet-valid": 2,
              "no-common-protocol": 1,
              "not-tls": 1,
              "server-distrusted": 1,
            }
            const grown = async () => {
              const after = await counts()
              return Object.fromEntries(
                Object.keys(expected).map((reason) => [
                  reason,
                  valueOf(after, REFUSED, { reason }) - valueOf(before, REFUSED, { reason }),
                ]),
              )
            }
            const total = (counted: Readonly<Record<string, number>>) =>
              Object.values(counted).reduce((sum, count) => sum + count, 0)
            // A client learns that it was refused before the server has seen the end of its connection.
            while (total(await grown()) < total(expected)) await setTimeout(10)
            assert.deepStrictEqual(await grown(), expected)
            stopping.abort()
            await steady
            assert.isAbove(served.length, 0)
            assert.isTrue(served.every((status) => status === 200))
            agent.destroy()

            const lines = logs.filter((line) => line.includes("TLS client refused"))
            for (const reason of Object.keys(expected)) {
              const told = lines.filter((line) => line.includes(`"${reason}"`))
              assert.strictEqual(told.length, 1, `${reason}: ${told.join("\n")}`)
              assert.include(told[0], '"address":"127.0.0.1"')
              assert.include(told[0], '"WARN"')
            }
            // Neither names that a stranger chose, nor keys.
            assert.notMatch(lines.join("\n"), /strange|another-authority|PRIVATE|BEGIN/)
          })
        }),
    )

    it.live(`the ${kind} accepts no TLS version below its minimum`, () =>
      Effect.gen(function* () {
        const { server } = yield* certificates
        const { url } = yield* startTls(kind, { server, minVersion: "TLSv1.3" })
        yield* Effect.promise(async () => {
          const answer = await httpsFetch(server, undefined, { minVersion: "TLSv1.3" })(`${url}/health`, {})
          assert.strictEqual(answer.status, 200)
          const older = httpsFetch(server, undefined, { maxVersion: "TLSv1.2" })
          assert.instanceOf(await failureOf(older(`${url}/health`, {})), Error)
        })
      }),
    )

    it.live(`the ${kind} verifies a client's certificate on every connection, and resumes none`, () =>
      Effect.gen(function* () {
        const { authority, mine, server } = yield* certificates
        const mutual = yield* startTls(kind, { server, authority: authority.cert })
        const plain = yield* startTls(kind, { server })
        yield* Effect.promise(async () => {
          for (const version of VERSIONS) {
            const options = { rejectUnauthorized: false, minVersion: version, maxVersion: version }
            assert.isFalse(await resumes(mutual.port, { ...options, ...identityOf(mine) }), version)
            // Without client certificates, resumption saves work.
            assert.isTrue(await resumes(plain.port, options), version)
          }
        })
      }),
    )

    it.live(`the ${kind} closes connections that do not begin a TLS handshake`, () =>
      Effect.gen(function* () {
        const { mine, authority, server } = yield* certificates
        const { logs, port, url } = yield* startTls(kind, {
          server,
          authority: authority.cert,
          // Long enough for the handshake of a client that begins one, on a busy machine.
          headersTimeout: Duration.seconds(2),
        })
        const silent = yield* openSocket(port)
        const slow = yield* openSocket(port, new Uint8Array([22, 3, 1]))
        yield* Effect.promise(async () => {
          assert.strictEqual(await silent.ended, "")
          assert.strictEqual(await slow.ended, "")
          assert.strictEqual((await httpsFetch(server, mine)(`${url}/health`, {})).status, 200)
          assert.strictEqual(logs.filter((line) => line.includes('"timeout"')).length, 1)
        })
      }),
    )
  }
})
