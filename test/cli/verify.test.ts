/** `sealgate verify` on what a real proxy signed. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { requestCommitment, responseCommitment } from "../../src/client/verification/verify.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { run, sealgate } from "../support/cli.ts"
import { identityFrom, statement } from "../support/protocol/reference.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { eventsOf, recording } from "../support/tamper.ts"

const PROMPT = "Pay Bob ten"

/** One streamed answer, everything that is left of it, and a folder to put files in. */
const answered = Effect.gen(function* () {
  const proxy = yield* startProxy()
  const folder = yield* temporaryFolder
  const { answers, record } = recording()
  const client = proxy.client({ fetch: record })
  const ask = Effect.promise(async () => {
    const stream = await client.stream({ prompt: PROMPT })
    await stream.text()
    return stream.end
  })
  const again = yield* ask
  const end = yield* ask
  const write = (content: unknown): string => {
    const path = join(folder, `${Math.random()}.txt`)
    writeFileSync(path, typeof content === "string" || Buffer.isBuffer(content) ? content : JSON.stringify(content))
    return path
  }
  const wire = answers.at(-1) ?? ""
  return { proxy, again, end, wire, write, keys: write(client.keySet), keySet: client.keySet }
})

const verify = (args: ReadonlyArray<string>) => run(verifyCommand, args)

const flipped = (text: string): string => text.slice(0, -2) + (text.at(-2) === "A" ? "B" : "A") + text.slice(-1)

describe("sealgate verify", () => {
  it.live("verifies a receipt, alone or with its proof and keys", () =>
    Effect.gen(function* () {
      const { end, keys, keySet, proxy, write } = yield* answered
      const alone = yield* sealgate(["verify", write(end.statements.receipt), "--pin", proxy.kid, "--keys", keys])
      assert.strictEqual(alone.code, 0, alone.stderr)
      assert.include(alone.stdout, "This receipt is genuine")
      assert.include(alone.stdout, "echo served it with the model echo-1")
      assert.include(alone.stdout, "you must trust the operator")
      assert.notInclude(alone.stdout, "\u001b[")

      const file = write({ ...end.statements, ...keySet })
      const both = yield* verify([file, "--pin", proxy.kid, "--json"])
      assert.strictEqual(both.code, 0)
      const told = JSON.parse(both.stdout)
      assert.deepStrictEqual([told.valid, told.kind, told.kid], [true, "receipt and proof", proxy.kid])
      assert.strictEqual(told.receipt.jti, end.receipt.jti)
    }),
  )

  it.live("verifies a proof, and a recording against it", () =>
    Effect.gen(function* () {
      const { end, keys, proxy, wire, write } = yield* answered
      const trust = ["--pin", proxy.kid, "--keys", keys]
      const alone = yield* verify([write(end.statements.proof), ...trust])
      assert.strictEqual(alone.code, 0)
      assert.include(alone.stdout, "no recording to compare")

      const recorded = yield* verify([write(wire), ...trust])
      assert.strictEqual(recorded.code, 0, recorded.stdout)
      assert.include(recorded.stdout, "is exactly what was sent")

      const frames = eventsOf(wire).filter(({ event }) => event === "frame")
      const dropped = write(wire.replace(`event: frame\ndata: ${frames[1]?.data}\n\n`, ""))
      const cut = yield* verify([dropped, ...trust, "--json"])
      assert.strictEqual(cut.code, 1)
      assert.deepInclude(JSON.parse(cut.stdout), { valid: false, code: "tampered" })
    }),
  )

  it.live("verifies a revealed exchange and shows request and answer", () =>
    Effect.gen(function* () {
      const { end, keys, proxy, write } = yield* answered
      const trust = ["--pin", proxy.kid, "--keys", keys]
      const genuine = yield* verify([write(end.evidence), ...trust])
      assert.strictEqual(genuine.code, 0)
      assert.include(genuine.stdout, `answered  "${PROMPT}"`)

      const forged = { ...end.evidence, request: end.evidence.request.replace("ten", "two") }
      const caught = yield* verify([write(forged), ...trust])
      assert.strictEqual(caught.code, 1)
      assert.include(caught.stdout, "does not commit to this request")
    }),
  )

  it.live("exits with 1 for a wrong signature, another signer, and statements of different exchanges", () =>
    Effect.gen(function* () {
      const { again, end, keys, keySet, proxy, write } = yield* answered
      const { end: other, keySet: otherKeys } = yield* answered
      const forged = yield* sealgate([
        "verify",
        write(flipped(end.statements.receipt)),
        "--pin",
        proxy.kid,
        "--keys",
        keys,
      ])
      assert.strictEqual(forged.code, 1)
      const stranger = write({ ...other.statements, ...otherKeys })
      const unpinned = yield* verify([stranger, "--pin", proxy.kid, "--keys", keys])
      assert.strictEqual(unpinned.code, 1)
      assert.include(unpinned.stdout, "which is not a trusted key")
      const mixed = write({ receipt: end.statements.receipt, proof: again.statements.proof, ...keySet })
      const two = yield* verify([mixed, "--pin", proxy.kid])
      assert.strictEqual(two.code, 1)
      assert.include(two.stdout, "different exchanges")
    }),
  )

  it.live("shows a revealed stream that failed before its first output", () =>
    Effect.gen(function* () {
      const { end, write } = yield* answered
      const identity = identityFrom(Buffer.alloc(32, 0x22))
      const commitKey = new Uint8Array(32)
      const credential = new Uint8Array(32)
      const responses = ['{"restart":{"reason":"truncated","provider":"echo","model":"echo-1"},"deltas":[]}']
      const commitment = yield* Effect.promise(() => responseCommitment(commitKey, responses.map(utf8)))
      const asked = yield* Effect.promise(() => requestCommitment(commitKey, credential, utf8(end.evidence.request)))
      const { statement: receipt } = statement(identity, "receipt", {
        ...end.receipt,
        iss: identity.kid,
        status: "failed",
        count: 1,
        request_commitment: encodeBase64Url(asked),
        response_commitment: encodeBase64Url(commitment),
      })
      const { request } = end.evidence
      const file = {
        receipt,
        commit_key: encodeBase64Url(commitKey),
        credential_commitment: encodeBase64Url(credential),
        request,
        responses,
        keys: [identity.jwk],
      }
      const { code, stderr, stdout } = yield* verify([write(file), "--pin", identity.kid])
      assert.strictEqual(code, 0, stdout + stderr)
      assert.include(stdout, "it ended as failed")
    }),
  )

  it.live("rejects a file with two different values for one member", () =>
    Effect.gen(function* () {
      const { again, end, keySet, proxy, wire, write } = yield* answered
      const other = again.statements
      for (const file of [
        // The text of one exchange below the receipt of another one.
        { ...again.evidence, statements: end.statements, ...keySet },
        { evidence: again.evidence, receipt: end.statements.receipt, ...keySet },
        { ...again.evidence, evidence: { request: end.evidence.request }, ...keySet },
        { ...end.statements, statements: other, ...keySet },
        { proof: other.proof, statements: { proof: end.statements.proof }, ...keySet },
        `${wire}event: proof\ndata: ${JSON.stringify({ proof: other.proof })}\n\n`,
      ]) {
        const mixed = yield* verify([write(file), "--pin", proxy.kid, "--keys", write(keySet)])
        assert.strictEqual(mixed.code, 2, mixed.stdout)
        assert.include(mixed.stderr, "two different")
      }
      const repeated = { ...end.evidence, statements: end.statements, evidence: end.evidence, ...keySet }
      assert.strictEqual((yield* verify([write(repeated), "--pin", proxy.kid])).code, 0)
    }),
  )

  it.live("rejects a file with parts that it cannot check", () =>
    Effect.gen(function* () {
      const { end, keys, proxy, wire, write } = yield* answered
      const { proof, receipt } = end.statements
      const { commit_key, request, responses } = end.evidence
      const recording = { response_nonce: "AAAA", frames: ["FORGED"] }
      for (const file of [
        { receipt, commit_key, request, responses: [{ forged: true }] },
        { receipt, commit_key, request: { forged: true }, responses },
        { receipt, request },
        { receipt, evidence: { responses } },
        { proof, commit_key, request, responses },
        { receipt, recording },
        { proof, frames: recording.frames },
        { proof, response_nonce: "AAAA", frames: "FORGED" },
        { receipt, recording: [recording] },
        { receipt, statements: proof },
        { receipt, proof: 1 },
        { receipt, proof: end.proof },
        { proof, receipt: end.receipt },
        { proof, completion: end.completion },
        wire.replace(/"response_nonce":"[^"]*"/, '"response_nonce":1'),
        wire.replace(/"ciphertext":"[^"]*"/, '"ciphertext":1'),
        wire.replace(/event: frame\ndata: .*/, "event: frame\ndata: 1"),
      ]) {
        const { code, stderr, stdout } = yield* verify([write(file), "--pin", proxy.kid, "--keys", keys])
        assert.strictEqual(code, 2, `${JSON.stringify(file)} ${stdout}`)
        assert.notStrictEqual(stderr, "")
      }
    }),
  )

  it.live("verifies output of `chat --json` and trusts none of its readable copies", () =>
    Effect.gen(function* () {
      const { end, keySet, proxy, write } = yield* answered
      const whole = yield* Effect.promise(() => proxy.client().complete({ prompt: PROMPT }))
      for (const file of [
        { ...end, ...keySet },
        { ...whole, ...keySet },
      ]) {
        const told = yield* verify([write(file), "--pin", proxy.kid])
        assert.strictEqual(told.code, 0, told.stdout + told.stderr)
        for (const forged of [
          { receipt: { ...file.receipt, model: "better" } },
          { completion: { ...file.completion, model: "better" } },
          ...("proof" in file ? [{ proof: { ...file.proof, count: 1 } }] : []),
        ]) {
          const caught = yield* verify([write({ ...file, ...forged }), "--pin", proxy.kid])
          assert.strictEqual(caught.code, 1)
          assert.include(caught.stdout, `The file shows another ${Object.keys(forged)[0]} than was signed`)
        }
      }
    }),
  )

  it.live("trusts no key by default, and exits with 2 for files that it cannot check", () =>
    Effect.gen(function* () {
      const { end, keys, keySet, proxy, write } = yield* answered
      const file = write({ ...end.statements, ...keySet })
      const unpinned = yield* verify([file])
      assert.strictEqual(unpinned.code, 2)
      assert.include(unpinned.stderr, proxy.kid)
      const online = yield* verify([file, "--keys", `${proxy.url}/v1/keys`])
      assert.strictEqual(online.code, 2)
      const keyless = yield* verify([write(end.statements.receipt), "--pin", proxy.kid])
      assert.strictEqual(keyless.code, 2)
      assert.include(keyless.stderr, "--keys")
      for (const args of [["/no/such/file"], [write("Hello")], [write({ hello: "world" })], []]) {
        assert.strictEqual((yield* verify([...args, "--pin", proxy.kid])).code, 2)
      }
      // A file of one's own keys is one's own word; a pin makes keys from anywhere good enough.
      assert.strictEqual((yield* verify([file, "--keys", keys])).code, 0)
      const pinned = ["--pin", proxy.kid, "--keys", `${proxy.url}/v1/keys`]
      assert.strictEqual((yield* verify([write(end.statements.receipt), ...pinned])).code, 0)
    }),
  )

  it.live("rejects signed statements that contradict each other", () =>
    Effect.gen(function* () {
      const { end, wire, write } = yield* answered
      const identity = identityFrom(Buffer.alloc(32, 0x22))
      const signed = (kind: "receipt" | "proof", claims: object) =>
        statement(identity, kind, { ...claims, iss: identity.kid }).statement
      const trust = ["--pin", identity.kid, "--keys", write({ keys: [identity.jwk] })]
      const receipt = signed("receipt", { ...end.receipt, count: 5 })
      const proof = signed("proof", { ...end.proof, count: 99, root: end.receipt.root })
      const both = yield* sealgate(["verify", write({ receipt, proof }), ...trust])
      assert.strictEqual(both.code, 1, both.stdout)
      assert.include(both.stdout, "✗")
      assert.include(both.stdout, "count with the final frame (6 and 99)")
      for (const alone of [receipt, proof]) assert.strictEqual((yield* verify([write(alone), ...trust])).code, 0)

      const told = yield* verify([write({ receipt, proof }), ...trust, "--json"])
      assert.strictEqual(told.code, 1)
      assert.deepInclude(JSON.parse(told.stdout), { valid: false, code: "tampered" })
      // With the recording, which the proof covers and the receipt does not.
      const [open = "", ...frames] = eventsOf(wire).filter(({ event }) => event !== "proof")
      const recording = {
        response_nonce: Object(JSON.parse(Object(open).data))["response_nonce"],
        frames: frames.map(({ data }) => Object(JSON.parse(data))["ciphertext"]),
      }
      const covering = signed("proof", end.proof)
      const whole = { receipt: signed("receipt", end.receipt), proof: covering, recording }
      assert.strictEqual((yield* verify([write(whole), ...trust])).code, 0)
      const uncovered = { ...whole, receipt: signed("receipt", { ...end.receipt, root: end.proof.root }) }
      const caught = yield* verify([write(uncovered), ...trust])
      assert.strictEqual(caught.code, 1)
      assert.include(caught.stdout, "The receipt does not cover the recorded frames")
    }),
  )

  it.live("rejects a recording that a client would have refused, even if the proof covers it", () =>
    Effect.gen(function* () {
      const { keys, proxy, wire, write } = yield* answered
      const trust = ["--pin", proxy.kid, "--keys", keys]
      const events = eventsOf(wire)
      const proof = events.at(-1)
      for (const [recorded, told] of [
        [wire.replace('"seq":1', '"seq":2'), "Frame 1 was due, but 2 came"],
        [wire.replace('"seq":0', '"seq":0,"final":true'), "A proof event was due, but frame came"],
        [wire.replace(',"final":true', ""), "A frame event was due, but proof came"],
        [`: a comment\n\nevent: frame2\ndata: {}\n\n${wire}`, "A open event was due, but frame2 came"],
        [`${wire}event: bye\ndata: {}\n\n`, "goes on after its proof"],
        [wire.replace('{"seq":0', '{"seq":7,"seq":0'), "two members"],
        [wire.replace(/event: proof\n/, `event: proof\ndata: ${proof?.data}\n\nevent: proof\n`), "after its proof"],
      ] as const) {
        assert.notStrictEqual(recorded, wire)
        const { code, stderr, stdout } = yield* verify([write(recorded), ...trust])
        assert.strictEqual(code, 1, stderr)
        assert.include(stdout, told)
      }
      assert.strictEqual((yield* verify([write(`: a comment\n\n${wire}`), ...trust])).code, 0)
    }),
  )

  it.live("rejects ambiguous JSON", () =>
    Effect.gen(function* () {
      const { end, keySet, proxy, write } = yield* answered
      const json = JSON.stringify({ ...end.evidence, ...keySet })
      const trust = ["--pin", proxy.kid]
      for (const [file, told] of [
        [json.replace("{", '{"request":"another question",'), 'two members "request"'],
        [json.replace("{", '{"note":"\\ud83d",'), "surrogate"],
        [`\uFEFF${json}`, "byte order mark"],
        [
          Buffer.concat([Buffer.from(json.slice(0, -1)), Buffer.from(',"note":"'), Buffer.of(0xff, 0x22, 0x7d)]),
          "UTF-8",
        ],
      ] as const) {
        const { code, stderr } = yield* verify([write(file), ...trust])
        assert.strictEqual(code, 2)
        assert.include(stderr, told)
      }
      assert.strictEqual((yield* verify([write(`\n ${json}\r\n`), ...trust])).code, 0)
      const spoilt = `{"keys":[],${JSON.stringify(keySet).slice(1)}`
      assert.strictEqual((yield* verify([write(json), ...trust, "--keys", write(spoilt)])).code, 2)
    }),
  )
})
