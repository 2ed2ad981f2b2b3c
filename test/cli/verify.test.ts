/** `sealgate verify` on what a real proxy signed. */
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { verifyCommand } from "../../src/cli/verifyCommand.ts"
import { createSealedFetch } from "../../src/client/sdk/sealedFetch.ts"
import { requestCommitment, responseCommitment } from "../../src/client/verification/verify.ts"
import { encodeBase64Url, utf8 } from "../../src/domain/bytes/bytes.ts"
import { run, sealgate } from "../support/cli.ts"
import { identityFrom, statement } from "../support/protocol/reference.ts"
import { startProxy, temporaryFolder } from "../support/proxy.ts"
import { eventsOf, recording } from "../support/tamper.ts"

const PROMPT = "Pay Bob ten"

/** One streamed answer, all evidence of it, and a folder for files. */
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

/** Expects an exit code and texts: of standard error for 2, else of standard output. */
const expects = Effect.fnUntraced(function* (
  code: number,
  args: ReadonlyArray<string>,
  ...says: ReadonlyArray<string>
) {
  const result = yield* verify(args)
  assert.strictEqual(result.code, code, result.stdout + result.stderr)
  for (const text of says) assert.include(code === 2 ? result.stderr : result.stdout, text)
  return result
})

const flipped = (text: string): string => text.slice(0, -2) + (text.at(-2) === "A" ? "B" : "A") + text.slice(-1)

describe("sealgate verify", () => {
  it.live("trusts the key in the proxy's folder if neither pins nor keys are given", () =>
    Effect.gen(function* () {
      const folder = yield* temporaryFolder
      const keyFile = join(folder, "attestation.pem")
      const proxy = yield* startProxy({ settings: { attestationKeyFile: keyFile } })
      const client = proxy.client()
      const { statements } = yield* Effect.promise(() => client.complete({ prompt: PROMPT }))
      const path = join(folder, "receipt.txt")
      writeFileSync(path, statements.receipt)
      const env = { ATTESTATION_KEY_FILE: keyFile }
      const trusted = yield* sealgate(["verify", path, "--keys", `${proxy.url}/v1/keys`], "", env)
      assert.strictEqual(trusted.code, 0, trusted.stderr)
      assert.include(trusted.stdout, `This holds if you created the key that it was checked with: ${keyFile}`)
      const json = yield* sealgate(["verify", path, "--keys", `${proxy.url}/v1/keys`, "--json"], "", env)
      assert.strictEqual(JSON.parse(json.stdout).trusted_key, keyFile)
      const elsewhere = yield* sealgate(["verify", path, "--keys", `${proxy.url}/v1/keys`])
      assert.strictEqual(elsewhere.code, 2)
      assert.include(elsewhere.stderr, "give it with --pin")
    }),
  )

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
      const both = yield* expects(0, [file, "--pin", proxy.kid, "--json"])
      const told = JSON.parse(both.stdout)
      assert.deepStrictEqual([told.valid, told.kind, told.kid], [true, "receipt and proof", proxy.kid])
      assert.strictEqual(told.receipt.jti, end.receipt.jti)
    }),
  )

  it.live("verifies a proof, and a recording against it", () =>
    Effect.gen(function* () {
      const { end, keys, proxy, wire, write } = yield* answered
      const trust = ["--pin", proxy.kid, "--keys", keys]
      yield* expects(0, [write(end.statements.proof), ...trust], "no recording to compare")

      yield* expects(0, [write(wire), ...trust], "is exactly what was sent")

      const frames = eventsOf(wire).filter(({ event }) => event === "frame")
      const dropped = write(wire.replace(`event: frame\ndata: ${frames[1]?.data}\n\n`, ""))
      const cut = yield* expects(1, [dropped, ...trust, "--json"])
      assert.deepInclude(JSON.parse(cut.stdout), { valid: false, code: "tampered" })
    }),
  )

  it.live("verifies a revealed exchange and shows request and answer", () =>
    Effect.gen(function* () {
      const { end, keys, proxy, write } = yield* answered
      const trust = ["--pin", proxy.kid, "--keys", keys]
      yield* expects(0, [write(end.evidence), ...trust], `answered  "${PROMPT}"`)

      const forged = { ...end.evidence, request: end.evidence.request.replace("ten", "two") }
      yield* expects(1, [write(forged), ...trust], "does not commit to this request")
    }),
  )

  it.live("verifies the argument of `onVerified` of a sealed fetch, written as JSON", () =>
    Effect.gen(function* () {
      const proxy = yield* startProxy()
      const folder = yield* temporaryFolder
      const file = join(folder, "answer.json")
      const fetch = createSealedFetch({
        baseUrl: proxy.url,
        pins: [proxy.kid],
        onVerified: (answer) => writeFileSync(file, JSON.stringify(answer)),
      })
      const body = JSON.stringify({ stream: true, messages: [{ role: "user", content: PROMPT }] })
      yield* Effect.promise(async () => {
        const answer = await fetch("https://sealed.invalid/v1/chat/completions", { method: "POST", body })
        await answer.text()
      })
      yield* expects(0, [file, "--pin", proxy.kid], `answered  "${PROMPT}"`)
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
      yield* expects(1, [stranger, "--pin", proxy.kid, "--keys", keys], "which is not a trusted key")
      const mixed = write({ receipt: end.statements.receipt, proof: again.statements.proof, ...keySet })
      yield* expects(1, [mixed, "--pin", proxy.kid], "different exchanges")
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
        yield* expects(2, [write(file), "--pin", proxy.kid, "--keys", write(keySet)], "two different")
      }
      const repeated = { ...end.evidence, statements: end.statements, evidence: end.evidence, ...keySet }
      yield* expects(0, [write(repeated), "--pin", proxy.kid])
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
        yield* expects(0, [write(file), "--pin", proxy.kid])
        for (const forged of [
          { receipt: { ...file.receipt, model: "better" } },
          { completion: { ...file.completion, model: "better" } },
          ...("proof" in file ? [{ proof: { ...file.proof, count: 1 } }] : []),
        ]) {
          yield* expects(
            1,
            [write({ ...file, ...forged }), "--pin", proxy.kid],
            `The ${Object.keys(forged)[0]} in the file is not the signed one.`,
          )
        }
      }
    }),
  )

  it.live("trusts no key by default, and exits with 2 for files that it cannot check", () =>
    Effect.gen(function* () {
      const { end, keys, keySet, proxy, write } = yield* answered
      const file = write({ ...end.statements, ...keySet })
      yield* expects(2, [file], proxy.kid)
      yield* expects(2, [file, "--keys", `${proxy.url}/v1/keys`])
      yield* expects(2, [write(end.statements.receipt), "--pin", proxy.kid], "--keys")
      for (const args of [["/no/such/file"], [write("Hello")], [write({ hello: "world" })], []]) {
        yield* expects(2, [...args, "--pin", proxy.kid])
      }
      // The verifier's own file of keys is trusted. Keys from elsewhere count if they are pinned.
      yield* expects(0, [file, "--keys", keys])
      const pinned = ["--pin", proxy.kid, "--keys", `${proxy.url}/v1/keys`]
      yield* expects(0, [write(end.statements.receipt), ...pinned])
    }),
  )

  it.live("refuses a file that has no end", () =>
    expects(2, ["/dev/zero", "--pin", "A".repeat(43)], "/dev/zero is larger than 128 MiB."),
  )

  it.live("shows a signed time that is beyond all dates as its seconds", () =>
    Effect.gen(function* () {
      const { end, write } = yield* answered
      const identity = identityFrom(Buffer.alloc(32, 0x22))
      const claims = { ...end.receipt, iss: identity.kid, received_at: 1, completed_at: 9e12, iat: 9e12 }
      const receipt = statement(identity, "receipt", claims).statement
      const trust = ["--pin", identity.kid, "--keys", write({ keys: [identity.jwk] })]
      yield* expects(0, [write(receipt), ...trust], "1970-01-01T00:00:01", "answered at 9000000000000 s after 1970.")
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
      for (const alone of [receipt, proof]) yield* expects(0, [write(alone), ...trust])

      const told = yield* expects(1, [write({ receipt, proof }), ...trust, "--json"])
      assert.deepInclude(JSON.parse(told.stdout), { valid: false, code: "tampered" })
      // With the recording, which the proof covers and the receipt does not.
      const [open = "", ...frames] = eventsOf(wire).filter(({ event }) => event !== "proof")
      const recording = {
        response_nonce: Object(JSON.parse(Object(open).data))["response_nonce"],
        frames: frames.map(({ data }) => Object(JSON.parse(data))["ciphertext"]),
      }
      const covering = signed("proof", end.proof)
      const whole = { receipt: signed("receipt", end.receipt), proof: covering, recording }
      yield* expects(0, [write(whole), ...trust])
      const uncovered = { ...whole, receipt: signed("receipt", { ...end.receipt, root: end.proof.root }) }
      yield* expects(1, [write(uncovered), ...trust], "The receipt does not cover the recorded frames")
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
      yield* expects(0, [write(`: a comment\n\n${wire}`), ...trust])
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
      yield* expects(0, [write(`\n ${json}\r\n`), ...trust])
      const spoilt = `{"keys":[],${JSON.stringify(keySet).slice(1)}`
      yield* expects(2, [write(json), ...trust, "--keys", write(spoilt)])
    }),
  )
})
