/** Certificates that are replaced while a server runs, in the ways in which tools replace them. */
import {
  appendFileSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { Agent } from "node:https"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { connect } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { TlsReadiness } from "../../../src/domain/operations/readiness.ts"
import {
  type Certificate,
  expiryOf,
  fingerprintOf,
  hasOpenssl,
  httpsFetch,
  makeCertificate,
  makeCertificateFor,
} from "../../support/certificates.ts"
import { passUntil as passUntilSo } from "../../support/passUntil.ts"
import { scrape, valueOf } from "../../support/prometheus.ts"
import { failing } from "../../support/promises.ts"
import { temporaryFolder } from "../../support/proxy.ts"
import { jsonOf } from "../../support/sealing.ts"
import { KINDS, startTls, type TlsServer } from "../../support/tlsServers.ts"

const DAY_MS = 86_400_000
const decodeTls = Schema.decodeUnknownSync(TlsReadiness)

/** The TLS part of the operator's `/ready`. */
const readiness = async ({ operatorUrl }: TlsServer) =>
  decodeTls((await jsonOf(await fetch(`${operatorUrl}/ready`)))["tls"])

/** The certificate that a server shows. */
const shownBy = ({ port }: TlsServer): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false })
    socket.on("error", reject)
    socket.on("secureConnect", () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "")
      socket.destroy()
    })
  })

const passUntil = (wanted: () => Promise<boolean>) => passUntilSo(Effect.promise(wanted))

/** Lets a second pass, and the server finish what it reads because of that. */
const passSecond = Effect.gen(function* () {
  yield* TestClock.adjust("1 second")
  yield* Effect.promise(async () => {
    for (let quiet = 0; quiet < 10; quiet++) {
      await setTimeout(1)
      // Files are read, and then closed.
      if (process.getActiveResourcesInfo().some((name) => name === "FSReqPromise" || name === "CloseReq")) quiet = 0
    }
  })
})

const install = (certificate: Certificate, into: Certificate) => {
  copyFileSync(certificate.cert, into.cert)
  copyFileSync(certificate.key, into.key)
}

/** The ways in which a folder of certificates comes to hold other ones. */
const WAYS: Readonly<
  Record<string, (folder: string) => { readonly files: Certificate; readonly put: (certificate: Certificate) => void }>
> = {
  "renamed over, file by file": (folder) => {
    const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") }
    const next = { cert: join(folder, "tls.crt.next"), key: join(folder, "tls.key.next") }
    return {
      files,
      put: (certificate) => {
        install(certificate, next)
        renameSync(next.cert, files.cert)
        renameSync(next.key, files.key)
      },
    }
  },
  "a linked folder swapped, as Kubernetes does": (folder) => {
    const files = { cert: join(folder, "tls.crt"), key: join(folder, "tls.key") }
    symlinkSync("..data/tls.crt", files.cert)
    symlinkSync("..data/tls.key", files.key)
    let version = 0
    return {
      files,
      put: (certificate) => {
        const old = `..version${version}`
        const current = `..version${++version}`
        mkdirSync(join(folder, current))
        install(certificate, { cert: join(folder, current, "tls.crt"), key: join(folder, current, "tls.key") })
        symlinkSync(current, join(folder, "..data_tmp"))
        renameSync(join(folder, "..data_tmp"), join(folder, "..data"))
        rmSync(join(folder, old), { recursive: true, force: true })
      },
    }
  },
}

/** A test whose clock stands still, but today: a test's clock begins in 1970, when no certificate was valid. */
const today = <A, E>(name: string, test: () => Effect.Effect<A, E, Scope.Scope>) =>
  it.effect(name, () => Effect.andThen(TestClock.setTime(Date.now()), Effect.suspend(test)))

describe.runIf(hasOpenssl)("certificates that change", () => {
  for (const [way, prepare] of Object.entries(WAYS)) {
    today(`are taken over when ${way}`, () =>
      Effect.gen(function* () {
        const made = yield* temporaryFolder
        const [first, second, third] = ["first", "second", "third"].map((name) => makeCertificate(made, name))
        assert(first !== undefined && second !== undefined && third !== undefined)
        const { files, put } = prepare(yield* temporaryFolder)
        put(first)
        const server = yield* startTls("proxy", { server: files })
        assert.strictEqual(yield* Effect.promise(() => shownBy(server)), fingerprintOf(first))
        for (const next of [second, third]) {
          put(next)
          yield* passUntil(async () => (await shownBy(server)) === fingerprintOf(next))
          assert.deepStrictEqual(yield* Effect.promise(() => readiness(server)), {
            mode: "tls",
            expires_at: expiryOf(next),
            last_reload_error: null,
            invalid: null,
          })
        }
      }),
    )
  }

  for (const kind of KINDS) {
    today(`leave the ${kind} with the old ones while they do not work, and it says why`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const first = makeCertificate(folder, "first")
        const second = makeCertificate(folder, "second")
        const past = { from: new Date(Date.now() - 2 * DAY_MS), to: new Date(Date.now() - DAY_MS) }
        const expired = makeCertificateFor(folder, "expired", past)
        const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
        install(first, used)
        const server = yield* startTls(kind, { server: used })
        const error = async () => (await readiness(server)).last_reload_error
        const secret = "c2VjcmV0IGtleSBtYXRlcmlhbCBvZiB0aGUgb3BlcmF0b3I="
        const pem = (label: string) => `-----BEGIN ${label}-----\n${secret}\n-----END ${label}-----\n`

        for (const [problem, breakThem] of [
          [/^TLS_CERT_FILE: /, () => writeFileSync(used.cert, pem("CERTIFICATE"))],
          [/^TLS_CERT_FILE: .*there is no such file/, () => rmSync(used.cert)],
          [/^TLS_KEY_FILE does not match/, () => copyFileSync(second.cert, used.cert)],
          [/^TLS_KEY_FILE: /, () => writeFileSync(used.key, pem("PRIVATE KEY"))],
          [/^TLS_KEY_FILE: is encrypted/, () => writeFileSync(used.key, pem("ENCRYPTED PRIVATE KEY"))],
          [/expired at/, () => install(expired, used)],
        ] as const) {
          breakThem()
          yield* passUntil(async () => problem.test((await error()) ?? ""))
          assert.strictEqual(yield* Effect.promise(() => shownBy(server)), fingerprintOf(first))
          assert.strictEqual((yield* Effect.promise(() => readiness(server))).expires_at, expiryOf(first))
        }
        // It is logged once, however long it lasts.
        const told = () => server.logs.filter((line) => line.includes("not reloaded"))
        const before = told().length
        for (let second = 0; second < 15; second++) yield* passSecond
        assert.strictEqual(told().length, before)
        for (const line of told()) {
          assert.match(JSON.parse(line).message, /^TLS certificate not reloaded, the old one stays in use: (the|TLS_)/)
        }

        install(second, used)
        yield* passUntil(async () => (await shownBy(server)) === fingerprintOf(second))
        assert.isNull((yield* Effect.promise(() => readiness(server))).last_reload_error)
        assert.notInclude(server.logs.join("\n"), secret.slice(0, 16))
        assert.notInclude(server.logs.join("\n"), "BEGIN")
      }),
    )

    today(`let new clients of the ${kind} in and keep those of a removed authority out`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        const server = makeCertificate(folder, "server")
        const [oldAuthority, newAuthority] = [makeCertificate(folder, "old"), makeCertificate(folder, "new")]
        const [removed, added] = [
          makeCertificate(folder, "removed", oldAuthority),
          makeCertificate(folder, "added", newAuthority),
        ]
        const authorities = join(folder, "authorities.pem")
        copyFileSync(oldAuthority.cert, authorities)
        const running = yield* startTls(kind, { server, authority: authorities })
        const health = `${running.url}/health`
        const isLetIn = (client: Certificate) =>
          httpsFetch(server, client)(health, {}).then(
            () => true,
            () => false,
          )
        const agent = new Agent({ keepAlive: true, maxSockets: 1 })
        yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
        const kept = httpsFetch(server, removed, { agent })
        const keptAnswer = async () => {
          const response = await kept(health, {})
          await response.text()
          return response.headers.get("connection")
        }
        assert.strictEqual(yield* Effect.promise(keptAnswer), "keep-alive")
        assert.isFalse(yield* Effect.promise(() => isLetIn(added)))

        // Both for a while, then the new one alone.
        writeFileSync(authorities, readFileSync(oldAuthority.cert, "utf8") + readFileSync(newAuthority.cert, "utf8"))
        yield* passUntil(() => isLetIn(added))
        // The connection from before closes in good order; its client may come back.
        assert.strictEqual(yield* Effect.promise(keptAnswer), "close")
        assert.strictEqual(yield* Effect.promise(keptAnswer), "keep-alive")

        copyFileSync(newAuthority.cert, authorities)
        yield* passUntil(async () => !(await isLetIn(removed)))
        assert.isTrue(yield* Effect.promise(() => isLetIn(added)))
        assert.strictEqual(yield* Effect.promise(keptAnswer), "close")
        assert.instanceOf(yield* failing(keptAnswer()), Error)

        // Authorities that cannot be read would lock everybody out.
        for (const bad of ["", "no certificate\n", readFileSync(server.key)]) {
          writeFileSync(authorities, bad)
          const named = async () =>
            (await readiness(running)).last_reload_error?.startsWith("TLS_CLIENT_CA_FILE: ") ?? false
          yield* passUntil(named)
          assert.isTrue(yield* Effect.promise(() => isLetIn(added)))
        }
        copyFileSync(newAuthority.cert, authorities)
        yield* passUntil(async () => (await readiness(running)).last_reload_error === null)
      }),
    )
  }

  today("are not taken while they are being written", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const first = makeCertificate(folder, "first")
      const next = [makeCertificate(folder, "second"), makeCertificate(folder, "third")] as const
      const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
      install(first, used)
      const server = yield* startTls("proxy", { server: used })
      for (let second = 0; second < 15; second++) {
        install(next[second % 2 === 0 ? 0 : 1], used)
        // Contents never return, so that two looks find the same only if none was written in between.
        appendFileSync(used.cert, "\n".repeat(second))
        yield* passSecond
      }
      assert.strictEqual(yield* Effect.promise(() => shownBy(server)), fingerprintOf(first))
      assert.isNull((yield* Effect.promise(() => readiness(server))).last_reload_error)
      yield* passUntil(async () => (await shownBy(server)) === fingerprintOf(next[0]))
    }),
  )

  today("leave connections alone when the authorities stay", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const authority = makeCertificate(folder, "authority")
      const mine = makeCertificate(folder, "mine", authority)
      const [first, second] = [makeCertificate(folder, "first"), makeCertificate(folder, "second")]
      const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
      install(first, used)
      const server = yield* startTls("proxy", { server: used, authority: authority.cert })
      const agent = new Agent({ keepAlive: true, maxSockets: 1 })
      yield* Effect.addFinalizer(() => Effect.sync(() => agent.destroy()))
      const kept = httpsFetch(first, mine, { agent })
      const ask = async () => {
        const response = await kept(`${server.url}/health`, {})
        await response.text()
        return response.headers.get("connection")
      }
      assert.strictEqual(yield* Effect.promise(ask), "keep-alive")
      install(second, used)
      yield* passUntil(() =>
        httpsFetch(second, mine)(`${server.url}/health`, {}).then(
          () => true,
          () => false,
        ),
      )
      // This client would not believe the new certificate: it is still on its first connection.
      assert.strictEqual(yield* Effect.promise(ask), "keep-alive")
    }),
  )

  today("show in the metrics", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const soon = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + 7 * DAY_MS) }
      const first = makeCertificateFor(folder, "first", soon)
      const second = makeCertificate(folder, "second")
      const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
      install(first, used)
      const server = yield* startTls("proxy", { server: used })
      const read = Effect.promise(() => scrape(server))
      const expiryShown = (metrics: Effect.Success<typeof read>) =>
        valueOf(metrics, "sealgate_tls_certificate_expires_at_seconds")
      const before = yield* read
      assert.strictEqual(expiryShown(before), Date.parse(expiryOf(first)) / 1000)

      copyFileSync(second.cert, used.cert)
      yield* passUntil(async () => (await readiness(server)).last_reload_error !== null)
      copyFileSync(second.key, used.key)
      yield* passUntil(async () => (await shownBy(server)) === fingerprintOf(second))
      const after = yield* read
      assert.strictEqual(expiryShown(after), Date.parse(expiryOf(second)) / 1000)
      const reloads = (metrics: typeof after, outcome: string) =>
        valueOf(metrics, "sealgate_tls_reloads_total", { outcome })
      assert.strictEqual(reloads(after, "success") - reloads(before, "success"), 1)
      assert.isAtLeast(reloads(after, "failure") - reloads(before, "failure"), 1)
      // Alerts see increases, which need a first value.
      const outcomes = before.get("sealgate_tls_reloads_total")?.samples.map(({ labels }) => labels["outcome"])
      assert.sameMembers([...(outcomes ?? [])], ["success", "failure"])
    }),
  )

  today("are reported as refused once the one in use expires, until another replaces it", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const short = { from: new Date(Date.now() - DAY_MS), to: new Date(Date.now() + 600_000) }
      const first = makeCertificateFor(folder, "first", short)
      const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
      install(first, used)
      const server = yield* startTls("proxy", { server: used })
      assert.isNull((yield* Effect.promise(() => readiness(server))).invalid)
      yield* TestClock.adjust("10 minutes")
      yield* passUntil(async () => /expired at/.test((await readiness(server)).invalid ?? ""))
      install(makeCertificate(folder, "second"), used)
      yield* passUntil(async () => (await readiness(server)).invalid === null)
    }),
  )

  today("are taken over once their time has come", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const later = { from: new Date(Date.now() + 600_000), to: new Date(Date.now() + DAY_MS) }
      const first = makeCertificate(folder, "first")
      const second = makeCertificateFor(folder, "second", later)
      const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
      install(first, used)
      const server = yield* startTls("proxy", { server: used })
      install(second, used)
      yield* passUntil(async () => /not valid before/.test((await readiness(server)).last_reload_error ?? ""))
      assert.strictEqual(yield* Effect.promise(() => shownBy(server)), fingerprintOf(first))
      yield* TestClock.adjust("10 minutes")
      yield* passUntil(async () => (await shownBy(server)) === fingerprintOf(second))
    }),
  )
})
