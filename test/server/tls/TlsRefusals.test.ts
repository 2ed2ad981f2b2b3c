import { assert, describe, it } from "@effect/vitest"
import { Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { makeRefusals, reasonOf, type TlsRefusal } from "../../../src/server/tls/TlsRefusals.ts"

const keptLogs = () => {
  const lines: Array<string> = []
  return { lines, layer: Logger.layer([Logger.make((entry) => void lines.push(Logger.formatJson.log(entry)))]) }
}

const refusal = (reason: TlsRefusal["reason"], address = "192.0.2.1"): TlsRefusal => ({ reason, code: "CODE", address })

describe("refusals of TLS clients", () => {
  it("take their reason from the certificate's fault, else from the error code", () => {
    for (const [code, verification, reason] of [
      ["ECONNRESET", "CERT_HAS_EXPIRED", "expired"],
      ["ECONNRESET", "CERT_NOT_YET_VALID", "not-yet-valid"],
      ["ECONNRESET", "UNABLE_TO_VERIFY_LEAF_SIGNATURE", "unknown-authority"],
      ["ECONNRESET", "UNABLE_TO_GET_ISSUER_CERT_LOCALLY", "unknown-authority"],
      ["ECONNRESET", "SELF_SIGNED_CERT_IN_CHAIN", "unknown-authority"],
      ["ECONNRESET", "DEPTH_ZERO_SELF_SIGNED_CERT", "unknown-authority"],
      ["ECONNRESET", "CERT_SIGNATURE_FAILURE", "unknown-authority"],
      ["ECONNRESET", "INVALID_PURPOSE", "bad-certificate"],
      ["ECONNRESET", undefined, "disconnected"],
      ["ERR_TLS_HANDSHAKE_TIMEOUT", undefined, "timeout"],
      ["ERR_SSL_NO_SHARED_CIPHER", undefined, "no-common-protocol"],
      ["ERR_SSL_DECRYPT_ERROR", undefined, "other"],
      [undefined, undefined, "other"],
    ] as const) {
      assert.strictEqual(reasonOf(code, verification), reason, `${code} ${verification}`)
    }
  })

  it.effect("are logged at once for the first of a reason, then once a minute in one line", () => {
    const { layer, lines } = keptLogs()
    return Effect.gen(function* () {
      const report = yield* makeRefusals
      for (let count = 0; count < 1000; count++) report(refusal("expired", `192.0.2.${count % 256}`))
      report(refusal("no-certificate"))
      yield* Effect.yieldNow
      assert.strictEqual(lines.length, 2)
      assert.match(lines[0] ?? "", /the client's certificate has expired.*/)

      yield* TestClock.adjust("59 seconds")
      assert.strictEqual(lines.length, 2)
      yield* TestClock.adjust("1 second")
      const counted = lines.filter((line) => line.includes('"expired"')).map((line) => /"count":(\d+)/.exec(line)?.[1])
      assert.strictEqual(counted.length <= 2 ? counted.reduce((sum, count) => sum + Number(count), 0) : 0, 1000)

      // After a minute without refusals, the next one is logged at once.
      const told = lines.length
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(lines.length, told)
      // The form of an IPv4 address at a server that listens on all IPv6 addresses.
      report(refusal("expired", "::ffff:192.0.2.77"))
      yield* Effect.yieldNow
      assert.strictEqual(lines.length, told + 1)
      assert.include(lines.at(-1), '"address":"192.0.2.77"')
    }).pipe(Effect.scoped, Effect.provide(layer))
  })

  it.effect("are not logged if a client only disconnected", () => {
    const { layer, lines } = keptLogs()
    return Effect.gen(function* () {
      const report = yield* makeRefusals
      report(refusal("disconnected"))
      yield* Effect.yieldNow
      assert.deepStrictEqual(lines, [])
    }).pipe(Effect.scoped, Effect.provide(layer))
  })
})
