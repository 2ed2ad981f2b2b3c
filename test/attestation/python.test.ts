/** A verifier of the binding in Python, written from the protocol's page, agrees with the proxy. */
import { execFile } from "node:child_process"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { encodeBase64Url } from "../../src/domain/bytes/bytes.ts"
import { configfs, confidentialSpaceAnswers, dstackAnswers, socketServer } from "../support/evidence/standIns.ts"
import { startEvidenceProxy } from "../support/evidence/evidenceProxy.ts"
import { haveCryptography, PYTHON } from "../support/pythonCryptography.ts"
import { temporaryFolder } from "../support/proxy.ts"
import { INIT, jsonOf, post } from "../support/sealing.ts"

type Json = Readonly<Record<string, unknown>>

/** Checks all in one process. */
const checkAll = (asked: ReadonlyArray<object>) =>
  Effect.callback<ReadonlyArray<string>>((resume) => {
    const child = execFile(PYTHON ?? "python3", ["test/attestation/python/binding.py"], (_, stdout, stderr) =>
      resume(Effect.succeed(`${stdout}${stderr}`.trim().split("\n"))),
    )
    child.stdin?.end(JSON.stringify(asked))
  })

/** Asks three times at once, so that paths have hashes. Returns the exchange of one of them. */
const exchangeWith = (url: string) =>
  Effect.promise(async () => {
    const nonces = Array.from({ length: 3 }, () => encodeBase64Url(crypto.getRandomValues(new Uint8Array(32))))
    const answers = await Promise.all(
      nonces.map(async (nonce): Promise<Json> => jsonOf(await post({ url }, "/v1/evidence", { nonce }))),
    )
    const { attestation, keys } = await jsonOf(await post({ url }, "/v1/init", INIT))
    return nonces.map((nonce, i) => ({ nonce, answer: answers[i] ?? {}, attestation, keys }))
  })

const digitChanged = (text: unknown): string => {
  const [first = "", ...rest] = String(text)
  return (first === "A" ? "B" : "A") + rest.join("")
}

describe.skipIf(!haveCryptography)("the verifier in Python", () => {
  for (const [format, attest, files] of [
    ["tdx", "tsm", configfs("tdx_guest", 568)],
    ["sev-snp", "tsm", configfs("sev_guest", 80)],
    ["dstack", "dstack", undefined],
    ["confidential-space", "confidential-space", undefined],
  ] as const) {
    it.live(`accepts evidence of ${format}, and refuses another nonce, key, configuration, path or session`, () =>
      Effect.gen(function* () {
        const folder = yield* temporaryFolder
        yield* socketServer(join(folder, "dstack.sock"), dstackAnswers)
        yield* socketServer(join(folder, "tee.sock"), confidentialSpaceAnswers)
        const { url } = yield* startEvidenceProxy(folder, { attest }, files)
        const [first, second] = yield* exchangeWith(url)
        assert(first !== undefined && second !== undefined)
        assert.strictEqual(first.answer["format"], format)
        const { answer } = first
        const wrong = [
          { ...first, nonce: second.nonce },
          { ...first, answer: { ...answer, kid: digitChanged(answer["kid"]) } },
          { ...first, answer: { ...answer, configuration: digitChanged(answer["configuration"]) } },
          { ...first, answer: { ...answer, path: { index: 0, size: 1, hashes: [] } } },
          { ...first, attestation: String(first.attestation).slice(0, -8) + "AAAAAAAA" },
        ]
        const [one, two, ...others] = yield* checkAll([first, second, ...wrong])
        assert.deepStrictEqual([one, two], ["bound", "bound"])
        assert.strictEqual(others.length, wrong.length)
        for (const said of others) assert.match(said, /^refused: /)
      }),
    )
  }
})
