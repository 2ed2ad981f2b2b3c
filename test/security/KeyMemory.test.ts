/**
 * Session keys in the memory of the real process, read from outside: there, without access rights, while the session
 * lives, and nowhere at all once it ended.
 */
import { createPrivateKey } from "node:crypto"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { randomBytes } from "../../src/client/crypto/primitives.ts"
import { sealRequest } from "../../src/client/sealed/sealRequest.ts"
import { requestInfo } from "../../src/domain/protocol/transcript.ts"
import { FakeUpstream } from "../support/FakeUpstream.ts"
import { PAUSED } from "../support/pauseAtExit.ts"
import { findInMemory, findPrivateKey, formsOf } from "../support/memory.ts"
import {
  ephemeralPrivateKey,
  fromB64u,
  hex,
  hpkeSeal,
  hpkeSecrets,
  publicKeyOf,
  responseKeys,
  text,
} from "../support/protocol/reference.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { run, runProxy, type RunningProxyProcess } from "../support/processes.ts"
import { beginSession, jsonOf, payloadOf, post, seal } from "../support/sealing.ts"

const REQUESTS = 8
const OPENS_PLAINLY = new URL("../support/opensPlainly.ts", import.meta.url).pathname

/** A session whose key was used `REQUESTS` times, and the X25519 half of that key in all its forms, as found in the proxy's memory. */
const useSession = async (proxy: RunningProxyProcess) => {
  const session = await beginSession(proxy)
  const request = async (stream: boolean) => {
    const { body } = await seal(session, { prompt: "some words to answer", stream })
    const response = await post(proxy, "/v1/completions", body)
    assert.strictEqual(response.status, 200)
    await response.text()
  }
  for (let n = 0; n < REQUESTS; n++) await request(n % 2 === 0)
  const key = findPrivateKey(proxy.pid, session.publicKey.subarray(-32))
  if (key === undefined) throw new Error("the session's key is not in guarded memory")
  return { forms: formsOf(key), request }
}

const placesOf = (proxy: RunningProxyProcess, { forms }: Awaited<ReturnType<typeof useSession>>) =>
  findInMemory(proxy.pid, forms)

/** While it lives the key is in one place, which the process itself cannot read. */
const assertGuarded = (places: ReadonlyArray<string>) =>
  assert.sameMembers(
    places.map((place) => place.replace(/ at .*/, "")),
    ["key in ---p", "first half in ---p", "second half in ---p"],
  )

const liveSessions = async (proxy: RunningProxyProcess): Promise<unknown> => {
  const { sessions } = await jsonOf(await fetch(`${proxy.operatorUrl}/ready`))
  return Reflect.get(Object(sessions), "live")
}

const pausedWith = (proxy: RunningProxyProcess): Promise<number> =>
  proxy.line((line) => (line.startsWith(PAUSED) ? Number(line.slice(PAUSED.length)) : undefined))

// Other systems do not show a process's memory as files.
describe.runIf(process.platform === "linux")("a session key in guarded memory", () => {
  it.live("is gone when the session was used up, when it was evicted, and at shutdown", () =>
    Effect.gen(function* () {
      const proxy = yield* runProxy({
        env: { SESSION_MAX_REQUESTS: String(REQUESTS + 1), SESSION_MAX_LIVE: "2" },
        pauseAtExit: true,
      })
      yield* Effect.promise(async () => {
        const spent = await useSession(proxy)
        assertGuarded(placesOf(proxy, spent))
        await spent.request(true)
        assert.deepStrictEqual(placesOf(proxy, spent), [])

        const evicted = await useSession(proxy)
        assertGuarded(placesOf(proxy, evicted))
        await beginSession(proxy)
        const last = await useSession(proxy)
        // Sessions that never served are evicted first, and there is one.
        assertGuarded(placesOf(proxy, evicted))
        await beginSession(proxy)
        assert.deepStrictEqual(placesOf(proxy, evicted), [])

        assertGuarded(placesOf(proxy, last))
        proxy.kill("SIGTERM")
        assert.strictEqual(await pausedWith(proxy), 0)
        assert.deepStrictEqual(placesOf(proxy, last), [])
      })
    }),
  )

  it.live("is gone when the session expired, and after a second signal", () =>
    Effect.gen(function* () {
      const upstream = yield* FakeUpstream.make()
      const proxy = yield* runProxy({
        env: { SESSION_TTL: "20s", PROVIDER1_API_KEY: "key", PROVIDER1_BASE_URL: upstream.openAi },
        pauseAtExit: true,
      })
      yield* Effect.promise(async () => {
        const expired = await useSession(proxy)
        while ((await liveSessions(proxy)) !== 0) await setTimeout(50)
        assert.deepStrictEqual(placesOf(proxy, expired), [])

        const last = await useSession(proxy)
        // A stream that does not end keeps the orderly shutdown waiting.
        upstream.script({ text: "one two three", delivery: { breaks: { after: 1, how: "silence" } } })
        const stream = await proxy.client().stream({ prompt: "hello" })
        await stream[Symbol.asyncIterator]().next()
        proxy.kill("SIGTERM")
        while ((await fetch(`${proxy.url}/ready`)).status !== 503) await setTimeout(20)
        proxy.kill("SIGINT")
        assert.strictEqual(await pausedWith(proxy), 130)
        assert.deepStrictEqual(placesOf(proxy, last), [])
      })
    }),
  )
})

describe.runIf(process.platform === "linux")("the identity key", () => {
  it.live("is in guarded memory alone, when it was made and when it was read", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const keyFile = join(folder, ".sealgate", "attestation.pem")
      for (const _ of ["made", "read"]) {
        const proxy = yield* runProxy({ folder })
        const der = createPrivateKey(readFileSync(keyFile)).export({ format: "der", type: "pkcs8" })
        const places = findInMemory(proxy.pid, [
          ["seed", der.subarray(-32)],
          ["base64", text(der.toString("base64").slice(24))],
        ])
        assert.deepStrictEqual(
          places.map((place) => place.replace(/ at .*/, "")),
          ["seed in ---p"],
        )
      }
    }),
  )
})

describe.runIf(process.platform === "linux")("a secret derived from a session key", () => {
  it.live("is gone when the request was answered", () =>
    Effect.gen(function* () {
      const proxy = yield* runProxy()
      yield* Effect.promise(async () => {
        // With X25519 alone, whose every secret can be computed here.
        const session = await beginSession(proxy, ["X25519"])
        const needles: Array<readonly [string, Uint8Array]> = []
        for (let n = 0; n < REQUESTS; n++) {
          const seed = randomBytes(32)
          const id = crypto.randomUUID()
          const payload = payloadOf(session, { prompt: "one two", stream: n % 2 === 0 }, id)
          const { body, enc, secret } = await sealRequest(session, { requestId: id, payload, credential: "" }, seed)
          const response = await post(proxy, "/v1/completions", body)
          assert.strictEqual(response.status, 200)
          const [, nonce = ""] = /"response_nonce":"([^"]*)"/.exec(await response.text()) ?? []
          const info = requestInfo(session.attestationHash)
          const secrets = hpkeSecrets(await ephemeralPrivateKey(seed), session.publicKey, info)
          assert.deepStrictEqual(secrets.exported, Buffer.from(secret))
          const { commitKey, key, prk } = responseKeys(secret, enc, fromB64u(nonce))
          needles.push(...Object.entries({ ...secrets, prk, commitKey, responseKey: key }))
        }
        assert.deepStrictEqual(findInMemory(proxy.pid, needles), [])
      })
    }),
  )

  it.live("is gone even if the key is in plain memory", () =>
    Effect.gen(function* () {
      const secret = randomBytes(32)
      const recipient = publicKeyOf("X25519", secret)
      const context = { info: text("info"), aad: text("aad") }
      const sent = yield* Effect.promise(() =>
        Promise.all(
          Array.from({ length: REQUESTS }, async () => {
            const seed = randomBytes(32)
            const { ciphertext, enc } = await hpkeSeal(recipient, context, text("Sealed."), seed)
            const secrets = hpkeSecrets(await ephemeralPrivateKey(seed), recipient, context.info)
            const request = {
              info: hex(context.info),
              aad: hex(context.aad),
              enc: hex(enc),
              ciphertext: hex(ciphertext),
            }
            return { request, needles: Object.entries(secrets) }
          }),
        ),
      )
      const requests = JSON.stringify(sent.map(({ request }) => request))
      const opening = yield* run([hex(secret), requests], { module: OPENS_PLAINLY })
      yield* Effect.promise(() => opening.line((line) => (line === "opened" ? line : undefined)))
      assert.deepStrictEqual(
        findInMemory(
          opening.pid,
          sent.flatMap(({ needles }) => needles),
        ),
        [],
      )
    }),
  )
})
