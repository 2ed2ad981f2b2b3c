/** HTTPS of a server, in this process and as the command runs it. */
import { chmodSync, copyFileSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { connect } from "node:tls"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import {
  type Certificate,
  expiryOf,
  fingerprintOf,
  hasOpenssl,
  httpsFetch,
  makeCertificate,
} from "../../support/certificates.ts"
import { runProxy } from "../../support/processes.ts"
import { failureOf } from "../../support/promises.ts"
import { startProxy, temporaryFolder } from "../../support/proxy.ts"
import { jsonOf } from "../../support/sealing.ts"

/** The certificate that a server shows. */
const shownBy = (port: number): Promise<string> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", rejectUnauthorized: false }, () => {
      resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "")
      socket.destroy()
    })
    socket.on("error", reject)
  })

describe.runIf(hasOpenssl)("TLS", () => {
  it.live("serves sealed completions over HTTPS, and reports its mode", () =>
    Effect.gen(function* () {
      const server = makeCertificate(yield* temporaryFolder, "server")
      const proxy = yield* startProxy({
        settings: { tlsCertFile: server.cert, tlsKeyFile: server.key, tlsMinVersion: "TLSv1.3" },
      })
      yield* Effect.promise(async () => {
        const fetch = httpsFetch(server)
        const client = proxy.client({ fetch })
        const { completion } = await client.complete({ prompt: "hello" })
        assert.strictEqual(completion.choices[0]?.message.content, "hello")
        assert.strictEqual(await (await client.stream({ prompt: "one two" })).text(), "one two")
        const { tls } = await jsonOf(await globalThis.fetch(`${proxy.operatorUrl}/ready`))
        assert.deepStrictEqual(tls, {
          mode: "tls",
          expires_at: expiryOf(server),
          last_reload_error: null,
          invalid: null,
        })
        // Somebody else's certificate, an old protocol version, and no TLS at all get nowhere.
        const other = makeCertificate(join(server.cert, ".."), "other")
        for (const refused of [
          httpsFetch(other)(`${proxy.url}/health`, {}),
          httpsFetch(server, undefined, { maxVersion: "TLSv1.2" })(`${proxy.url}/health`, {}),
          globalThis.fetch(`http://127.0.0.1:${proxy.port}/health`),
        ]) {
          assert.instanceOf(await failureOf(refused), Error)
        }
      })
    }),
  )

  it.live("reads its certificate again on SIGHUP", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const first = makeCertificate(folder, "first")
      const second = makeCertificate(folder, "second")
      const used: Certificate = { cert: join(folder, "used.crt"), key: join(folder, "used.key") }
      const install = (certificate: Certificate) => {
        copyFileSync(certificate.cert, used.cert)
        copyFileSync(certificate.key, used.key)
      }
      install(first)
      const proxy = yield* runProxy({ env: { TLS_CERT_FILE: used.cert, TLS_KEY_FILE: used.key }, secure: true })
      yield* Effect.promise(async () => {
        const port = Number(new URL(proxy.url).port)
        assert.strictEqual(await shownBy(port), fingerprintOf(first))

        install(second)
        proxy.kill("SIGHUP")
        while ((await shownBy(port)) !== fingerprintOf(second)) await setTimeout(20)
        await proxy.client({ fetch: httpsFetch(second) }).complete({ prompt: "hello" })

        proxy.kill("SIGTERM")
        assert.strictEqual(await proxy.exit, 0)
        assert.notInclude([...proxy.stdout, ...proxy.stderr].join("\n"), "PRIVATE KEY")
      })
    }),
  )

  it.live("does not start with unusable files", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const one = makeCertificate(folder, "one")
      const other = makeCertificate(folder, "other")
      const [noKey, shown] = [join(folder, "no-key"), join(folder, "shown-key")]
      writeFileSync(noKey, readFileSync(one.cert), { mode: 0o600 })
      writeFileSync(shown, readFileSync(one.key))
      chmodSync(shown, 0o644)
      for (const [settings, problem] of [
        [{ tlsCertFile: one.cert, tlsKeyFile: other.key }, "TLS: TLS_KEY_FILE does not match"],
        [{ tlsCertFile: one.key, tlsKeyFile: one.key }, "TLS: TLS_CERT_FILE: "],
        [{ tlsCertFile: one.cert, tlsKeyFile: noKey }, "TLS: TLS_KEY_FILE: holds nothing"],
        [{ tlsCertFile: one.cert, tlsKeyFile: shown }, `TLS: TLS_KEY_FILE: ${shown} is readable or writable by others`],
        [{ tlsCertFile: join(folder, "missing"), tlsKeyFile: one.key }, "there is no such file"],
        [{ tlsCertFile: one.cert }, "TLS_KEY_FILE: is missing"],
        [{ tlsKeyFile: one.key }, "TLS_CERT_FILE: is missing"],
        [{ tlsClientCaFile: one.cert }, "TLS_CERT_FILE: is missing"],
        [{ tlsCertFile: one.cert, tlsKeyFile: one.key, tlsClientCaFile: one.key }, "TLS: TLS_CLIENT_CA_FILE: "],
      ] as const) {
        const error = yield* Effect.flip(Effect.scoped(startProxy({ settings })))
        assert.include(error.message, problem, JSON.stringify(settings))
      }
    }),
  )
})
