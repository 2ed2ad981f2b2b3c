/** All faults inside a sealed request get the same answer. */
import { request } from "node:http"
import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { concat, u32, utf8 } from "../../src/domain/bytes/bytes.ts"
import { FLOOR, pad } from "../../src/domain/protocol/padding.ts"
import { requestAad, requestInfo } from "../../src/domain/protocol/transcript.ts"
import type { SealedRequestBody } from "../../src/client/sealed/sealRequest.ts"
import { startProxy } from "../support/proxy.ts"
import { beginSession, payloadOf, seal, sealBlock, withByteChanged } from "../support/sealing.ts"

/** Status line, headers except the date, and body, byte by byte. */
const exact = (url: string, body: object): Promise<string> =>
  new Promise((resolve, reject) => {
    const sent = request(`${url}/v1/completions`, {
      method: "POST",
      headers: { "content-type": "application/json" },
    })
    sent.on("response", (response) => {
      const chunks: Array<Buffer> = []
      response.on("data", (chunk: Buffer) => chunks.push(chunk))
      response.on("end", () => {
        const headers = response.rawHeaders.map((text, i) =>
          response.rawHeaders[i - 1]?.toLowerCase() === "date" && i % 2 === 1 ? "" : text,
        )
        const status = `${response.httpVersion} ${response.statusCode} ${response.statusMessage}`
        resolve([status, ...headers, Buffer.concat(chunks).toString("latin1")].join("\n"))
      })
      response.on("error", reject)
    })
    sent.on("error", reject)
    sent.end(JSON.stringify(body))
  })

it.effect("all failures to open a request look the same", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy()
    yield* Effect.promise(async () => {
      const session = await beginSession(proxy)
      const other = await beginSession(proxy)
      const { body } = await seal(session, { prompt: "hello" })
      const payload = utf8(payloadOf(session, { prompt: "hello" }))
      const block = pad(payload, FLOOR)
      const dirty = block.slice()
      dirty[dirty.length - 1] = 1
      const failures: Readonly<Record<string, SealedRequestBody>> = {
        "a flipped byte": { ...body, ciphertext: withByteChanged(body.ciphertext, 0) },
        "a flipped byte of the tag": { ...body, ciphertext: withByteChanged(body.ciphertext, 1039) },
        truncated: { ...body, ciphertext: body.ciphertext.slice(0, -4) },
        "only a tag": { ...body, ciphertext: "A".repeat(22).replace(/.$/, "A") },
        "shorter than a tag": { ...body, ciphertext: "AAAA" },
        empty: { ...body, ciphertext: "" },
        "not canonical": { ...body, ciphertext: `${body.ciphertext.slice(0, -1)}B` },
        "an impossible length": { ...body, ciphertext: "AAAAA" },
        "another session's key": await sealBlock(session, block, { publicKey: other.publicKey }),
        "wrong info": await sealBlock(session, block, { info: requestInfo(other.attestationHash) }),
        "wrong aad": await sealBlock(session, block, { aad: requestAad(other.idBytes) }),
        "non-zero padding": await sealBlock(session, dirty),
        "a block below the floor": await sealBlock(session, pad(payload, 1)),
        "a block of a size that padding does not give": await sealBlock(session, concat(block, new Uint8Array(1))),
        "a block longer than needed": await sealBlock(session, concat(block, new Uint8Array(1024))),
        "a length beyond the block": await sealBlock(session, concat(u32(0xffffffff), new Uint8Array(1020))),
        "a length one too many": await sealBlock(session, concat(u32(1021), new Uint8Array(1020))),
        "an empty block": await sealBlock(session, new Uint8Array(0)),
        "half a length": await sealBlock(session, new Uint8Array(3)),
        "a point of small order": { ...body, enc: "A".repeat(43) },
      }
      const answers = new Map<string, string>()
      for (const [name, failure] of Object.entries(failures)) answers.set(name, await exact(proxy.url, failure))
      const expected = answers.get("a flipped byte") ?? ""
      assert.match(expected, /^1\.1 400 Bad Request\n/)
      assert.include(expected, "application/problem+json")
      assert.include(expected, `"code":"unopenable"`)
      for (const [name, answer] of answers) assert.strictEqual(answer, expected, name)
      // The session still works: none of these used it up or changed it.
      assert.match(await exact(proxy.url, body), /^1\.1 200 /)
    })
  }),
)

it.effect("a session that is unknown, spent, evicted or expired looks the same", () =>
  Effect.gen(function* () {
    const proxy = yield* startProxy({ settings: { sessionMaxLive: 2, sessionMaxRequests: 1 } })
    yield* Effect.promise(async () => {
      const evicted = await seal(await beginSession(proxy), { prompt: "evicted" })
      const used = await beginSession(proxy)
      const spent = await seal(used, { prompt: "too late" })
      assert.match(await exact(proxy.url, (await seal(used, { prompt: "spent" })).body), /^1\.1 200 /)
      await beginSession(proxy)
      await beginSession(proxy)
      const unknown = { ...evicted.body, session_id: "A".repeat(22) }
      const expected = await exact(proxy.url, unknown)
      assert.include(expected, `"code":"session-gone"`)
      for (const { body } of [evicted, spent]) {
        assert.strictEqual(await exact(proxy.url, body), expected)
        const forged = { ...body, ciphertext: withByteChanged(body.ciphertext, 7) }
        assert.strictEqual(await exact(proxy.url, forged), expected)
      }
    })
  }),
)
